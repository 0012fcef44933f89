import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';

const { turnBytes: PIECE_BYTES } = BUDGETS.webSocket;

/** Who is asked before a piece of what came in is taken apart. */
export interface Pace {
  /** Whether there is time for it in this turn of the event loop; where not, `goOn` is called in a later one. */
  hasTime(goOn: () => void): boolean;
  /** Takes note of so many bytes that are taken apart next; may destroy the socket instead. */
  take(bytes: number): void;
}

/**
 * Hands what a socket has read to the parser of its WebSocket piece by piece, while there is time. By itself
 * the parser takes apart at once all that is there, even if its WebSocket is paused meanwhile: that may be
 * ten thousand empty messages or pongs.
 */
export class PacedReading {
  readonly #socket: Duplex;
  readonly #pace: Pace;
  #isPaused = false;
  #isWaiting = false;

  /** The parser listens to the socket's data already. */
  constructor(socket: Duplex, pace: Pace) {
    this.#socket = socket;
    this.#pace = pace;
    const read = () => this.#read();
    // With such a listener the parser is given only what is read here.
    socket.on('readable', read);
    // The parser has met a mistake, and wants the rest thrown away.
    socket.on('resume', read);
    // Throws away what is left, which the parser would take apart at once. Nobody would hear an answer.
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
      // Where nothing is left, this lets the socket tell of its end.
      if (this.#socket.read(length) === null) return;
    }
  }

  /** Whether what is read is still taken apart: after a mistake of the peer it is thrown away. */
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
