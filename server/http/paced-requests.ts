import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { RequestPieces } from './request-pieces.ts';

const { turnPieceBytes: PIECE_BYTES } = BUDGETS.request;
const NOTHING = Buffer.alloc(0);

/** What is asked before a piece of what came in is parsed. */
export interface RequestPace {
  /** Calls `parse` when a piece of this connection may be parsed: now or later. */
  turn(socket: Duplex, parse: () => void): void;
  /** Takes note that so many bytes of a connection wait to be parsed; may destroy the socket. */
  waiting(socket: Duplex, bytes: number): void;
}

type Parse = (bytes: Buffer) => void;

/** By its socket, the reading of each connection that has been served over HTTP. */
const READINGS = new WeakMap<Duplex, PacedRequests>();

/**
 * Hands what a connection has read to the parser of node:http piece by piece, each in a turn. By itself the
 * parser takes apart at once all that came in: in 64 KB there may be two thousand requests, and it begins
 * them all. A piece ends where a head does, and nothing more is parsed until that request is answered, so
 * that a connection has one request at a time.
 */
export class PacedRequests {
  readonly #socket: Duplex;
  readonly #pace: RequestPace;
  readonly #pieces = new RequestPieces();
  #parse: Parse | undefined;
  /** What was read and is not parsed. */
  #bytes: Buffer = NOTHING;
  #isWaiting = false;
  /** The request that was parsed last. */
  #request: IncomingMessage | undefined;
  #isAnswered = true;
  /** How much of its body is still to come, where its head tells. */
  #bodyLeft = 0;

  /** To be called when node:http has begun to listen to a socket, each time that it does. */
  static serve(socket: Duplex, pace: RequestPace): void {
    const reading = READINGS.get(socket) ?? new PacedRequests(socket, pace);
    READINGS.set(socket, reading);
    reading.#begin();
  }

  /** A request no longer has as much of its body waiting as it takes. */
  static bodyWanted({ socket }: IncomingMessage): void {
    const reading = READINGS.get(socket);
    if (reading !== undefined) reading.#goOn();
  }

  /** node:http is about to answer a request. */
  static answers(request: IncomingMessage, answer: ServerResponse): void {
    const reading = READINGS.get(request.socket);
    if (reading !== undefined) reading.#answers(request, answer);
  }

  /** Another protocol is spoken from now on: what is not parsed goes back into the socket. */
  static upgraded(socket: Duplex): void {
    const reading = READINGS.get(socket);
    if (reading === undefined) return;
    const rest = reading.#stop();
    if (rest.length > 0) socket.unshift(rest);
  }

  private constructor(socket: Duplex, pace: RequestPace) {
    this.#socket = socket;
    this.#pace = pace;
    // It stays for good: to take it off would let the socket flow in the next turn.
    socket.on('readable', () => this.#goOn());
    socket.on('drain', () => this.#goOn());
    for (const event of ['end', 'close']) socket.on(event, () => this.#stop());
  }

  #begin(): void {
    const [parse] = this.#socket.listeners('data');
    this.#parse = (bytes) => parse?.call(this.#socket, bytes);
    this.#socket.removeAllListeners('data');
    // These would have the socket read on beyond its high-water mark, after each request.
    for (const event of ['pause', 'resume']) this.#socket.removeAllListeners(event);
    this.#request = undefined;
    this.#goOn();
  }

  #answers(request: IncomingMessage, answer: ServerResponse): void {
    this.#request = request;
    this.#isAnswered = false;
    // What tells no length is unknown, and so is a length behind so many fields that it was dropped.
    this.#bodyLeft = Number(request.headers['content-length'] ?? 0);
    answer.once('close', () => {
      this.#isAnswered = true;
      this.#goOn();
    });
  }

  get #isWanted(): boolean {
    const request = this.#request;
    if (request === undefined || request.complete)
      return this.#isAnswered && !this.#socket.writableNeedDrain;
    return request.readableLength < request.readableHighWaterMark;
  }

  #goOn(): void {
    if (this.#parse === undefined || this.#socket.destroyed) return;
    this.#read();
    this.#pace.waiting(this.#socket, this.#bytes.length + this.#socket.readableLength);
    if (this.#bytes.length === 0 || this.#isWaiting || !this.#isWanted) return;
    this.#isWaiting = true;
    // The parser may be what called: it cannot take a piece while it hands on another.
    queueMicrotask(() => this.#pace.turn(this.#socket, () => this.#takeTurn()));
  }

  #takeTurn(): void {
    // Where nobody would hear an answer there is nothing to be parsed.
    if (!this.#socket.destroyed) this.#parsePiece();
    this.#isWaiting = false;
    this.#goOn();
  }

  /** Also while nothing is parsed, as far as there is room: else nobody would hear that the client has gone. */
  #read(): void {
    while (this.#bytes.length < PIECE_BYTES) {
      const more: Buffer | null = this.#socket.read();
      if (more === null) return;
      this.#bytes = this.#bytes.length === 0 ? more : Buffer.concat([this.#bytes, more]);
    }
  }

  #parsePiece(): void {
    const request = this.#request;
    const isBody = request !== undefined && !request.complete && this.#bodyLeft > 0;
    const most = this.#bytes.subarray(0, isBody ? this.#bodyLeft : PIECE_BYTES);
    const piece = isBody ? most : this.#pieces.next(most);
    this.#bytes = this.#bytes.subarray(piece.length);
    if (isBody) this.#bodyLeft -= piece.length;
    this.#parse?.(piece);
  }

  /** Parses no more, and returns what is left. */
  #stop(): Buffer {
    const rest = this.#bytes;
    this.#bytes = NOTHING;
    this.#parse = undefined;
    return rest;
  }
}

/** An answer that is counted as begun when node:http makes it, also where no app is asked for it. */
export class PacedAnswer extends ServerResponse {
  constructor(request: IncomingMessage, options?: object) {
    // The types do not know of the options that node:http hands on.
    super(...([request, options] as unknown as [IncomingMessage]));
    PacedRequests.answers(request, this);
  }
}
