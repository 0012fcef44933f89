import type { Transport } from '../../amqp/endpoint/transport.ts';
import type { AmqpServer } from '../../amqp/service/amqp-server.ts';
import type { ClientSocket, SocketMessage } from '../web-socket-types.ts';

/** The part of `AmqpServer` that a socket needs. */
export type AcceptsTransports = Pick<AmqpServer, 'accept'>;

/**
 * A WebSocket without a network: it hands the client's bytes to an AMQP server in this process. It has the members of
 * the standard that AMQP libraries use. Bytes pass in a later turn of the event loop, as on a network, so that neither
 * side is called while it calls.
 */
export class InProcessSocket implements ClientSocket {
  readonly url: string;
  binaryType = 'arraybuffer';
  onopen: (() => void) | null = null;
  onmessage: ((message: SocketMessage) => void) | null = null;
  onclose: (() => void) | null = null;
  onerror: ((error: unknown) => void) | null = null;
  readonly #toServer: Passing;
  readonly #toClient: Passing;
  readonly #onClosed: () => void;
  #isClosed = false;

  /** `closed` is called once the connection has ended. */
  constructor(server: AcceptsTransports, url: string, closed: () => void) {
    this.url = url;
    this.#toClient = new Passing((bytes) => this.onmessage?.({ data: copyOf(bytes) }));
    const transport: Transport = {
      get backlog() {
        return 0;
      },
      write: (bytes, written) => this.#toClient.add(bytes, written),
      pause: () => this.#toServer.pause(),
      resume: () => this.#toServer.resume(),
      end: () => this.#toClient.end(() => this.close()),
      destroy: () => this.close(),
    };
    const connection = server.accept(transport);
    this.#toServer = new Passing((bytes) => connection.input(bytes));
    this.#onClosed = () => {
      this.#toServer.stop();
      this.#toClient.stop();
      connection.transportClosed();
      closed();
      this.onclose?.();
    };
    setImmediate(() => {
      if (!this.#isClosed) this.onopen?.();
    });
  }

  /** Whether bytes are on their way, in either direction. */
  get isPassing(): boolean {
    return !this.#isClosed && (this.#toServer.isPassing || this.#toClient.isPassing);
  }

  send(data: ArrayBuffer | ArrayBufferView): void {
    if (this.#isClosed) return;
    // The client may use its bytes again.
    this.#toServer.add(Buffer.from(bytesOf(data)));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    setImmediate(this.#onClosed);
  }
}

interface Passed {
  readonly bytes: Uint8Array;
  readonly passed: (() => void) | undefined;
}

/** Bytes that pass in one direction, in order. */
class Passing {
  readonly #pass: (bytes: Uint8Array) => void;
  #waiting: Passed[] = [];
  #isPaused = false;
  #isScheduled = false;
  #onEnd: (() => void) | undefined;

  constructor(pass: (bytes: Uint8Array) => void) {
    this.#pass = pass;
  }

  get isPassing(): boolean {
    return this.#waiting.length > 0;
  }

  /** `passed` is called once the bytes have passed, or never will. */
  add(bytes: Uint8Array, passed?: () => void): void {
    this.#waiting.push({ bytes, passed });
    this.#schedule();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#schedule();
  }

  /** Calls back once everything has passed. */
  end(onEnd: () => void): void {
    this.#onEnd = onEnd;
    this.#schedule();
  }

  /** Drops what has not passed. */
  stop(): void {
    const dropped = this.#waiting;
    this.#waiting = [];
    for (const { passed } of dropped) passed?.();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#passWaiting();
    });
  }

  #passWaiting(): void {
    // Only what has come before this turn, so that both sides take turns.
    for (let left = this.#waiting.length; left > 0 && !this.#isPaused; left--) {
      const next = this.#waiting.shift();
      // `stop` has dropped the rest.
      if (next === undefined) break;
      this.#pass(next.bytes);
      next.passed?.();
    }
    if (this.#isPaused) return;
    if (this.#waiting.length > 0) this.#schedule();
    else this.#onEnd?.();
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

function copyOf({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}
