import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';

/** A certificate and its key, as PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Who serves what a client turns out to speak. */
export interface ProtocolServers {
  readonly amqp: (socket: Socket) => void;
  readonly http: (socket: Socket) => void;
  /** What TLS clients are shown; without it they are sent away. */
  readonly certificate: (() => Certificate) | undefined;
}

/** How every AMQP connection begins, and every one of TLS. */
const AMQP = Buffer.from('AMQP');
const TLS_HANDSHAKE = 0x16;
/** How long a client may take to say something. */
const SILENT_MS_MAX = 30_000;

/** Tells by the first bytes of a connection what it speaks: one port, and so one address, for all. */
export class Protocols {
  readonly #servers: ProtocolServers;
  /** Connections on which nothing was said yet, so that nobody else knows them. */
  readonly #silent = new Set<Socket>();
  #context: SecureContext | undefined;

  constructor(servers: ProtocolServers) {
    this.#servers = servers;
  }

  serve(socket: Socket): void {
    this.#look(socket, (first) => {
      if (first[0] === TLS_HANDSHAKE) this.#unwrap(socket);
      else this.#lead(socket, first);
    });
  }

  /** Ends the connections of those who have not said anything. */
  close(): void {
    for (const socket of this.#silent) socket.destroy();
  }

  /** Inside of TLS stands one of the other two. */
  #unwrap(socket: Socket): void {
    const secureContext = this.#secureContext();
    if (secureContext === undefined) {
      socket.destroy();
      return;
    }
    const secure = new TLSSocket(socket, { isServer: true, secureContext });
    socket.on('error', () => secure.destroy());
    this.#look(secure, (first) => this.#lead(secure, first));
  }

  #lead(socket: Socket, first: Uint8Array): void {
    const begin = AMQP.subarray(0, Math.min(first.byteLength, AMQP.length));
    if (begin.equals(first.subarray(0, AMQP.length))) this.#servers.amqp(socket);
    else this.#servers.http(socket);
  }

  #look(socket: Socket, decide: (first: Uint8Array) => void): void {
    const giveUp = () => socket.destroy();
    const timer = setTimeout(giveUp, SILENT_MS_MAX);
    const forget = () => {
      clearTimeout(timer);
      this.#silent.delete(socket);
    };
    this.#silent.add(socket);
    socket.once('close', forget);
    socket.once('error', giveUp);
    socket.once('readable', () => {
      const first: Buffer | null = socket.read();
      // It ended without a word.
      if (first === null) {
        giveUp();
        return;
      }
      forget();
      socket.off('close', forget);
      socket.off('error', giveUp);
      socket.unshift(first);
      decide(first);
    });
  }

  /** Made when the first client wants it: most never do. */
  #secureContext(): SecureContext | undefined {
    if (this.#context !== undefined) return this.#context;
    if (this.#servers.certificate === undefined) return undefined;
    const { certificate, key } = this.#servers.certificate();
    this.#context = createSecureContext({ cert: certificate, key });
    return this.#context;
  }
}
