import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { LoopTurns } from '../shared/domain/turns/loop-turns.ts';
import { clientAddressOf, noteClientAddress } from './client-address.ts';
import { readProxyHeader } from './proxy-header.ts';
import { helloState, TLS_HANDSHAKE } from './tls/tls-hello.ts';
import { PiecewiseTlsSocket } from './tls/tls-pieces.ts';
import type { UnauthorizedConnections } from './unauthorized-connections.ts';

/** A certificate and its key, as PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** The servers for each protocol, and what decides whether a connection gets to one. */
export interface ProtocolDetectorOptions {
  readonly amqp: (socket: Socket) => void;
  readonly http: (socket: Socket) => void;
  /** The certificate for TLS clients; without it they are refused. */
  readonly certificate: (() => Certificate) | undefined;
  /** How long a client may take to send its first bytes, ms; inside TLS too. */
  readonly firstBytesMs: number;
  /**
   * Decides by a client's address whether it may connect. If given, a load balancer is in front, which sends a PROXY
   * header first; if not, PROXY headers are not accepted.
   */
  readonly admit?: Admit | undefined;
  /** Bounds the connections whose clients are not authorized. */
  readonly unauthorized: UnauthorizedConnections;
}

/** Whether a connection of a client may go on. */
export type Admit = (socket: Socket, address: string) => boolean;

/** The first bytes of every AMQP connection. */
const AMQP = Buffer.from('AMQP');
/**
 * The key exchange groups offered to TLS clients; every client supports one of them. OpenSSL's default list includes a
 * group that takes a tenth of a second for each handshake, and the client chooses.
 */
const GROUPS = 'X25519:P-256:P-384';

/** Detects the protocol of a connection by its first bytes, so that all protocols share one port (semantics W1). */
export class ProtocolDetector {
  readonly #options: ProtocolDetectorOptions;
  /** Connections whose protocol is not known yet. */
  readonly #undecided = new Map<Socket, NodeJS.Timeout>();
  readonly #turns = new LoopTurns({ soon: setImmediate }, BUDGETS.turnFirstBytes);
  #context: SecureContext | undefined;

  constructor(options: ProtocolDetectorOptions) {
    this.#options = options;
  }

  serve(socket: Socket): void {
    this.#options.unauthorized.add(socket);
    const timer = setTimeout(() => socket.destroy(), this.#options.firstBytesMs);
    this.#undecided.set(socket, timer);
    socket.once('close', () => this.#forget(socket));
    const { admit } = this.#options;
    if (admit === undefined) this.#tellApart(socket);
    else this.#readHeader(socket, admit, Buffer.alloc(0));
  }

  /** Closes the connections whose protocol is not known. */
  close(): void {
    for (const socket of this.#undecided.keys()) socket.destroy();
  }

  #tellApart(socket: Socket): void {
    this.#take(socket, (first) => {
      if (first[0] !== TLS_HANDSHAKE) {
        socket.unshift(first);
        this.#passOn(socket, socket, first);
      } else if (this.#options.certificate === undefined) socket.destroy();
      else this.#readHello(socket, first);
    });
  }

  /** Waits for the whole TLS hello, because OpenSSL would answer it outside of any turn. */
  #readHello(socket: Socket, bytes: Buffer): void {
    switch (helloState(bytes)) {
      case 'incomplete':
        this.#take(socket, (more) => this.#readHello(socket, Buffer.concat([bytes, more])));
        return;
      case 'malformed':
        socket.destroy();
        return;
      case 'whole':
        socket.unshift(bytes);
        this.#unwrap(socket);
    }
  }

  /** Reads the PROXY header, whose first bytes are `before`; nothing is decrypted earlier. */
  #readHeader(socket: Socket, admit: Admit, before: Buffer): void {
    this.#take(socket, (more) => {
      const bytes = Buffer.concat([before, more]);
      const header = readProxyHeader(bytes);
      switch (header.kind) {
        case 'incomplete':
          // Fewer bytes than the longest header.
          this.#readHeader(socket, admit, bytes);
          return;
        case 'malformed':
          socket.destroy();
          return;
        case 'absent':
          socket.unshift(bytes);
          this.#admit(socket, admit, undefined);
          return;
        case 'whole':
          if (bytes.byteLength > header.bytes) socket.unshift(bytes.subarray(header.bytes));
          this.#admit(socket, admit, header.client);
      }
    });
  }

  /** A connection without a client's address is a health check of the load balancer. */
  #admit(socket: Socket, admit: Admit, client: string | undefined): void {
    if (client === undefined) {
      this.#forget(socket);
      this.#options.http(socket);
    } else if (admit(socket, client)) {
      noteClientAddress(socket, client);
      this.#tellApart(socket);
    } else {
      // No answer: it would need a TLS handshake, which costs the server more than the client.
      socket.destroy();
    }
  }

  #forget(socket: Socket): void {
    this.#turns.forget(socket);
    clearTimeout(this.#undecided.get(socket));
    this.#undecided.delete(socket);
  }

  /** Detects the protocol inside TLS. */
  #unwrap(socket: Socket): void {
    const secureContext = this.#secureContext();
    if (secureContext === undefined) {
      socket.destroy();
      return;
    }
    const secure = new PiecewiseTlsSocket(socket, { isServer: true, secureContext });
    const client = clientAddressOf(socket);
    if (client !== undefined) noteClientAddress(secure, client);
    socket.on('error', () => secure.destroy());
    const passOn = (first: Buffer) => {
      secure.unshift(first);
      this.#passOn(socket, secure, first);
    };
    this.#take(secure, passOn, socket);
  }

  /** Passes a connection to the server of its protocol, which its first bytes show. */
  #passOn(outer: Socket, socket: Socket, first: Uint8Array): void {
    this.#forget(outer);
    const { amqp, http, unauthorized } = this.#options;
    unauthorized.delete(outer);
    const begin = AMQP.subarray(0, Math.min(first.byteLength, AMQP.length));
    if (begin.equals(first.subarray(0, AMQP.length))) {
      amqp(socket);
      return;
    }
    unauthorized.add(socket);
    http(socket);
  }

  /**
   * Takes the next bytes of a socket. In each turn of the event loop only a few sockets have theirs taken, in order of
   * arrival, because a TLS handshake may follow. `outer` = the socket that carries TLS; a socket that has closed
   * meanwhile is not served.
   */
  #take(socket: Socket, taken: (bytes: Buffer) => void, outer: Socket = socket): void {
    const giveUp = () => socket.destroy();
    socket.once('error', giveUp);
    const take = () => {
      const first: Buffer | null = socket.destroyed ? null : socket.read();
      // The client closed without sending anything.
      if (first === null) {
        giveUp();
        return;
      }
      socket.off('error', giveUp);
      taken(first);
    };
    // Not during the event, because the protocol's server may listen to it too.
    socket.once('readable', () => queueMicrotask(() => this.#turns.begin(outer, take)));
  }

  /** Created for the first TLS client; most servers never have one. */
  #secureContext(): SecureContext | undefined {
    if (this.#context !== undefined) return this.#context;
    if (this.#options.certificate === undefined) return undefined;
    const { certificate, key } = this.#options.certificate();
    this.#context = createSecureContext({ cert: certificate, key, ecdhCurve: GROUPS });
    return this.#context;
  }
}
