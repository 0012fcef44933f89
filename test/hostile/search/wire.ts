import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** What a connection does next. */
export type Step =
  /** Sends bytes. */
  | Uint8Array
  /** Sends so many pieces, each made when its turn comes. */
  | { readonly times: number; readonly make: (index: number) => Uint8Array }
  | { readonly pauseMs: number }
  /** Waits for something in what came back, and sends what it leads to. */
  | { readonly answer: (heard: Buffer) => Uint8Array | undefined };

/** One connection of an attack. */
export interface Wire {
  readonly steps: readonly Step[];
  /** Never reads what it is told. */
  readonly isDeaf?: boolean;
}

/** An attack in bytes: what its connections say. The same seed and number draw the same one. */
export interface Case {
  readonly kind: string;
  /** Its sizes, for whoever reads of it. */
  readonly what: string;
  readonly wires: readonly Wire[];
}

/** Bytes that came back and are kept for `answer`. */
const HEARD_BYTES_KEPT = 64 * 1024;
const ANSWER_MS_MAX = 2000;
/**
 * Attackers have addresses of their own where a machine has several, so that what is counted by
 * address does not count them with the honest client.
 */
const ADDRESSES = process.platform === 'linux' ? ['127.0.0.2', '127.0.0.3', '127.0.0.4'] : [];

/** A case under way. */
export class Attack {
  readonly case: Case;
  /** Resolves once every connection has said all it had to say, or is closed. */
  readonly said: Promise<void>;
  readonly #sockets: Socket[];
  #sent = 0;

  constructor(one: Case, port: number) {
    this.case = one;
    const localAddress = ADDRESSES[one.kind.length % ADDRESSES.length];
    const options = { port, host: '127.0.0.1', ...(localAddress ? { localAddress } : {}) };
    this.#sockets = one.wires.map(() => connect(options));
    const all = one.wires.map((wire, place) => {
      const socket = this.#sockets[place];
      return socket === undefined ? undefined : this.#play(wire, socket);
    });
    this.said = Promise.all(all).then(() => undefined);
  }

  /** Bytes that were handed to the network. */
  get sent(): number {
    return this.#sent;
  }

  /** Connections that nobody has closed yet. */
  get open(): number {
    return this.#sockets.filter(({ destroyed }) => !destroyed).length;
  }

  /** Goes away, whatever is under way. */
  release(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #play({ steps, isDeaf = false }: Wire, socket: Socket): Promise<void> {
    socket.on('error', () => {});
    const line = new Line(socket);
    if (isDeaf) socket.pause();
    else if (steps.some((step) => 'answer' in step)) socket.on('data', (bytes) => line.hear(bytes));
    else socket.resume();
    for (const step of steps) {
      if (!line.isOpen) return;
      await this.#take(step, line);
    }
  }

  async #take(step: Step, line: Line): Promise<void> {
    if (step instanceof Uint8Array) await this.#send(line, step);
    else if ('pauseMs' in step) await pause(step.pauseMs);
    else if ('answer' in step) {
      const bytes = await line.answer(step.answer);
      if (bytes !== undefined) await this.#send(line, bytes);
    } else {
      for (let index = 0; index < step.times && line.isOpen; index++) {
        await this.#send(line, step.make(index));
      }
    }
  }

  async #send(line: Line, bytes: Uint8Array): Promise<void> {
    this.#sent += bytes.byteLength;
    await line.send(bytes);
  }
}

class Line {
  readonly #socket: Socket;
  #heard = Buffer.alloc(0);
  #look = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get isOpen(): boolean {
    return this.#socket.writable;
  }

  hear(bytes: Buffer): void {
    this.#heard = Buffer.concat([this.#heard, bytes]).subarray(-HEARD_BYTES_KEPT);
    this.#look();
  }

  async send(bytes: Uint8Array): Promise<void> {
    if (!this.isOpen || this.#socket.write(bytes)) return;
    await new Promise<void>((resolve) => {
      const go = () => {
        this.#socket.off('drain', go).off('close', go);
        resolve();
      };
      this.#socket.on('drain', go).on('close', go);
    });
  }

  /** Undefined where nothing of that kind came. */
  async answer(find: (heard: Buffer) => Uint8Array | undefined): Promise<Uint8Array | undefined> {
    return await new Promise((resolve) => {
      const late = setTimeout(() => resolve(undefined), ANSWER_MS_MAX);
      this.#look = () => {
        const bytes = find(this.#heard);
        if (bytes === undefined) return;
        clearTimeout(late);
        this.#look = () => {};
        resolve(bytes);
      };
      this.#look();
    });
  }
}
