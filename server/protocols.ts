import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { LoopTurns } from '../shared/domain/turns/loop-turns.ts';
import { clientAddressOf, noteClientAddress } from './client-address.ts';
import { readProxyHeader } from './proxy-header.ts';
import { helloState, TLS_HANDSHAKE } from './tls/tls-hello.ts';
import { PiecewiseTlsSocket } from './tls/tls-pieces.ts';
import type { UnprovedConnections } from './unproved-connections.ts';

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
  /** How long a client may take to show what it speaks, inside of TLS too. */
  readonly firstBytesMs: number;
  /**
   * Whether a client may connect, by its address. Where it is given, a load balancer stands before us,
   * and puts a PROXY header before all else; where it is not, no header is believed.
   */
  readonly admit?: Admit | undefined;
  /** Bounds the connections whose clients have proved no right. */
  readonly unproved: UnprovedConnections;
}

/** Whether a connection of a client may go on. */
export type Admit = (socket: Socket, address: string) => boolean;

/** How every AMQP connection begins. */
const AMQP = Buffer.from('AMQP');
/**
 * What keys may be agreed on with a TLS client, who chooses: every client knows one of these. Of those that
 * OpenSSL allows by itself, one takes a tenth of a second for each handshake.
 */
const GROUPS = 'X25519:P-256:P-384';

/** Tells by the first bytes of a connection what it speaks: one port, and so one address, for all. */
export class Protocols {
  readonly #servers: ProtocolServers;
  /** Those that have not shown what they speak. */
  readonly #undecided = new Map<Socket, NodeJS.Timeout>();
  readonly #turns = new LoopTurns({ soon: setImmediate }, BUDGETS.turnFirstBytes);
  #context: SecureContext | undefined;

  constructor(servers: ProtocolServers) {
    this.#servers = servers;
  }

  serve(socket: Socket): void {
    this.#servers.unproved.add(socket);
    const timer = setTimeout(() => socket.destroy(), this.#servers.firstBytesMs);
    this.#undecided.set(socket, timer);
    socket.once('close', () => this.#forget(socket));
    const { admit } = this.#servers;
    if (admit === undefined) this.#tellApart(socket);
    else this.#readHeader(socket, admit, Buffer.alloc(0));
  }

  /** Sends away those of whom nobody knows what they want. */
  close(): void {
    for (const socket of this.#undecided.keys()) socket.destroy();
  }

  #tellApart(socket: Socket): void {
    this.#take(socket, (first) => {
      if (first[0] !== TLS_HANDSHAKE) {
        socket.unshift(first);
        this.#lead(socket, socket, first);
      } else if (this.#servers.certificate === undefined) socket.destroy();
      else this.#readHello(socket, first);
    });
  }

  /** Waits for all of the hello: OpenSSL would answer it when it comes, in no turn. */
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

  /** Reads the PROXY header, of which `before` has come already; nothing is decrypted before it. */
  #readHeader(socket: Socket, admit: Admit, before: Buffer): void {
    this.#take(socket, (more) => {
      const bytes = Buffer.concat([before, more]);
      const header = readProxyHeader(bytes);
      switch (header.kind) {
        case 'incomplete':
          // These are fewer bytes than a whole header may have.
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

  /** Without the address of a client it is the load balancer that connects, to ask for our health. */
  #admit(socket: Socket, admit: Admit, client: string | undefined): void {
    if (client === undefined) {
      this.#forget(socket);
      this.#servers.http(socket);
    } else if (admit(socket, client)) {
      noteClientAddress(socket, client);
      this.#tellApart(socket);
    } else {
      // An answer would take a handshake of TLS, and cost us more than it costs the client.
      socket.destroy();
    }
  }

  #forget(socket: Socket): void {
    this.#turns.forget(socket);
    clearTimeout(this.#undecided.get(socket));
    this.#undecided.delete(socket);
  }

  /** Inside of TLS stands one of the other two. */
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
    const lead = (first: Buffer) => {
      secure.unshift(first);
      this.#lead(socket, secure, first);
    };
    this.#take(secure, lead, socket);
  }

  #lead(outer: Socket, socket: Socket, first: Uint8Array): void {
    this.#forget(outer);
    const { amqp, http, unproved } = this.#servers;
    unproved.delete(outer);
    const begin = AMQP.subarray(0, Math.min(first.byteLength, AMQP.length));
    if (begin.equals(first.subarray(0, AMQP.length))) {
      amqp(socket);
      return;
    }
    unproved.add(socket);
    http(socket);
  }

  /**
   * Takes the bytes that come next out of a socket. Of all sockets together that is a few in each turn of the
   * event loop, in the order in which they came: what follows may be a handshake of TLS. `outer` = the
   * socket that TLS goes through; what has gone meanwhile is not served.
   */
  #take(socket: Socket, taken: (bytes: Buffer) => void, outer: Socket = socket): void {
    const giveUp = () => socket.destroy();
    socket.once('error', giveUp);
    const take = () => {
      const first: Buffer | null = socket.destroyed ? null : socket.read();
      // It ended without a word.
      if (first === null) {
        giveUp();
        return;
      }
      socket.off('error', giveUp);
      taken(first);
    };
    // Not within the event: what follows may listen to it, too.
    socket.once('readable', () => queueMicrotask(() => this.#turns.begin(outer, take)));
  }

  /** Made when the first client wants it: most never do. */
  #secureContext(): SecureContext | undefined {
    if (this.#context !== undefined) return this.#context;
    if (this.#servers.certificate === undefined) return undefined;
    const { certificate, key } = this.#servers.certificate();
    this.#context = createSecureContext({ cert: certificate, key, ecdhCurve: GROUPS });
    return this.#context;
  }
}
