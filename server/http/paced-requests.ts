import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { RequestPieces } from './request-pieces.ts';

const { turnPieceBytes: PIECE_BYTES } = BUDGETS.request;
const NOTHING = Buffer.alloc(0);

/** Decides when a piece of input is parsed. */
export interface RequestPace {
  /** Calls `parse` when a piece of this connection's input may be parsed, now or later. */
  pace(socket: Duplex, parse: () => void): void;
  /** Notes how many bytes of a connection wait to be parsed; may destroy the socket. */
  waiting(socket: Duplex, bytes: number): void;
}

type Parse = (bytes: Buffer) => void;

/** The reader of each HTTP connection, by its socket. */
const READINGS = new WeakMap<Duplex, PacedRequests>();

/**
 * Passes the input of a connection to the parser of node:http piece by piece, each in a turn of the event loop. The
 * parser itself would parse all input at once: 64 KB may hold two thousand requests, and it would start all of them. A
 * piece ends at the end of a request's head, and nothing more is parsed until that request is answered, so a connection
 * has one request at a time.
 */
export class PacedRequests {
  readonly #socket: Duplex;
  readonly #pace: RequestPace;
  readonly #pieces = new RequestPieces();
  #parse: Parse | undefined;
  /** Input that was read and not parsed. */
  #bytes: Buffer = NOTHING;
  #isWaiting = false;
  /** The last parsed request. */
  #request: IncomingMessage | undefined;
  #isAnswered = true;
  /** Bytes of its body that are still missing, if its head says how many there are. */
  #bodyLeft = 0;

  /** Call it each time that node:http has started to listen to a socket. */
  static serve(socket: Duplex, pace: RequestPace): void {
    const reading = READINGS.get(socket) ?? new PacedRequests(socket, pace);
    READINGS.set(socket, reading);
    reading.#begin();
  }

  /** Notes that a request can take more of its body. */
  static bodyWanted({ socket }: IncomingMessage): void {
    const reading = READINGS.get(socket);
    if (reading !== undefined) reading.#goOn();
  }

  /** Notes that node:http has created the answer to a request. */
  static answers(request: IncomingMessage, answer: ServerResponse): void {
    const reading = READINGS.get(request.socket);
    if (reading !== undefined) reading.#answers(request, answer);
  }

  /** Returns unparsed input to the socket, because the connection switches to another protocol. */
  static upgraded(socket: Duplex): void {
    const reading = READINGS.get(socket);
    if (reading === undefined) return;
    const rest = reading.#stop();
    if (rest.length > 0) socket.unshift(rest);
  }

  private constructor(socket: Duplex, pace: RequestPace) {
    this.#socket = socket;
    this.#pace = pace;
    // The listener is never removed, because that would make the socket flow in the next turn.
    socket.on('readable', () => this.#goOn());
    socket.on('drain', () => this.#goOn());
    for (const event of ['end', 'close']) socket.on(event, () => this.#stop());
  }

  #begin(): void {
    const [parse] = this.#socket.listeners('data');
    this.#parse = (bytes) => parse?.call(this.#socket, bytes);
    this.#socket.removeAllListeners('data');
    // These listeners would make the socket read beyond its high-water mark after each request.
    for (const event of ['pause', 'resume']) this.#socket.removeAllListeners(event);
    this.#request = undefined;
    this.#goOn();
  }

  #answers(request: IncomingMessage, answer: ServerResponse): void {
    this.#request = request;
    this.#isAnswered = false;
    // The length is unknown if no field gives it, or if there are so many fields that it was dropped.
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
    // The parser may be the caller, and it cannot take a piece while it delivers another.
    queueMicrotask(() => this.#pace.pace(this.#socket, () => this.#takeTurn()));
  }

  #takeTurn(): void {
    // Without a client that could read an answer, nothing is parsed.
    if (!this.#socket.destroyed) this.#parsePiece();
    this.#isWaiting = false;
    this.#goOn();
  }

  /** Reads input as far as there is room, also while nothing is parsed, to notice that the client has gone. */
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

  /** Stops parsing and returns the remaining input. */
  #stop(): Buffer {
    const rest = this.#bytes;
    this.#bytes = NOTHING;
    this.#parse = undefined;
    return rest;
  }
}

/** An answer that notes its creation by node:http, also if no app is called for it. */
export class PacedAnswer extends ServerResponse {
  constructor(request: IncomingMessage, options?: object) {
    // The types lack the options that node:http passes on.
    super(...([request, options] as unknown as [IncomingMessage]));
    PacedRequests.answers(request, this);
  }
}
