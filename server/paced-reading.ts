import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';

const { turnBytes: PIECE_BYTES } = BUDGETS.webSocket;

/** Decides when a piece of input is parsed. */
export interface Pace {
  /** Whether there is time for it in this turn of the event loop; if not, `goOn` is called in a later turn. */
  hasTime(goOn: () => void): boolean;
  /** Counts the bytes that are parsed next; may destroy the socket instead. */
  take(bytes: number): void;
}

/**
 * Passes the input of a socket to its WebSocket parser piece by piece, while there is time. The parser itself would
 * parse all input at once, even if its WebSocket is paused meanwhile: that may be ten thousand empty messages or pongs.
 */
export class PacedReading {
  readonly #socket: Duplex;
  readonly #pace: Pace;
  #isPaused = false;
  #isWaiting = false;

  /** The parser must already listen to the socket's data. */
  constructor(socket: Duplex, pace: Pace) {
    this.#socket = socket;
    this.#pace = pace;
    const read = () => this.#read();
    // With this listener the parser gets only the pieces that are read here.
    socket.on('readable', read);
    // After a violation of the protocol the parser resumes the socket, so that all further input is discarded.
    socket.on('resume', read);
    // On a close the parser would parse all remaining input at once, for a client that is gone. This discards it.
    socket.prependListener('close', () => socket.read());
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    process.nextTick(() => this.#read());
  }

  #read(): void {
    while (!this.#isParsed || !(this.#isPaused || this.#isWaiting)) {
      const length = Math.min(this.#socket.readableLength, PIECE_BYTES);
      if (length > 0 && this.#isParsed && !this.#mayTake(length)) return;
      // With no input left, this read makes the socket emit its end.
      if (this.#socket.read(length) === null) return;
    }
  }

  /** Whether input is still parsed; after an error of the peer it is discarded. */
  get #isParsed(): boolean {
    return this.#socket.listenerCount('data') > 0;
  }

  #mayTake(length: number): boolean {
    this.#isWaiting = !this.#pace.hasTime(() => {
      this.#isWaiting = false;
      this.#read();
    });
    if (this.#isWaiting) return false;
    this.#pace.take(length);
    return !this.#socket.destroyed;
  }
}
