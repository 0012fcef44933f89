import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';
import { encodeFrame, type Frame, FrameReader, protocolHeader } from '../wire/frames.ts';
import { type Open, type Performative, readPerformative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import { AmqpError, DecodeError } from '../wire/wire-error.ts';
import { writePerformative } from '../wire/write-performative.ts';
import type { ConnectionHandler, Transport } from './handlers.ts';
import { Holdings } from './holdings.ts';
import { IncomingLink } from './incoming-link.ts';
import { Outbox } from './outbox.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import { mechanismsFrame, outcomeFrame, readSaslInit } from './sasl.ts';
import { Session, type SessionHost } from './session.ts';

const FRAME_BYTES_MAX = 65_536;
/** The least that the standard lets a peer ask for. */
const FRAME_BYTES_MIN = 512;
export const CHANNEL_MAX = 4999;
/** We want to hear something this often; who is silent twice as long is gone. */
const IDLE_MS = 240_000;
/** How long a peer may take to say who it is. */
const HANDSHAKE_MS_MAX = 30_000;
/** How long a peer may take to answer our close. */
const CLOSE_MS_MAX = 5_000;
const TICK_MS_MAX = 30_000;

type Phase = 'header' | 'sasl' | 'authenticating' | 'headerAgain' | 'open' | 'closing' | 'ended';

/** What we call ourselves, and what a connection waits by. */
export interface ConnectionOptions {
  readonly containerId: string;
  readonly scheduler: Scheduler;
}

/**
 * The server's end of one AMQP connection: bytes in, bytes out. What the peer gets wrong ends the
 * connection with an error that says so, and nothing else.
 */
export class Connection implements SessionHost {
  readonly holdings = new Holdings();
  readonly #transport: Transport;
  readonly #scheduler: Scheduler;
  readonly #handler: ConnectionHandler;
  readonly #containerId: string;
  readonly #outbox: Outbox;
  readonly #reader = new FrameReader(FRAME_BYTES_MAX);
  readonly #sessions = new Map<number, Session>();
  #phase: Phase = 'header';
  #peer: Open | undefined;
  #heardAt: number;
  #timer: Timer;

  constructor(
    transport: Transport,
    { containerId, scheduler }: ConnectionOptions,
    createHandler: (connection: Connection) => ConnectionHandler,
  ) {
    this.#transport = transport;
    this.#scheduler = scheduler;
    this.#outbox = new Outbox(transport, scheduler);
    this.#containerId = containerId;
    this.#handler = createHandler(this);
    this.#heardAt = scheduler.now();
    this.#timer = scheduler.after(HANDSHAKE_MS_MAX, () => this.#abort());
  }

  get maxFrameSize(): number {
    return Math.min(this.#peer?.maxFrameSize ?? FRAME_BYTES_MAX, FRAME_BYTES_MAX);
  }

  /** Bytes that are to be sent and that the peer has not taken yet. */
  get backlog(): number {
    return this.#transport.backlog + this.holdings.waitingBytes;
  }

  /** Takes what came in. */
  input(bytes: Uint8Array): void {
    // What comes behind a close nobody reads.
    if (this.#phase === 'closing' || this.#phase === 'ended') return;
    this.#heardAt = this.#scheduler.now();
    this.#reader.push(bytes);
    this.#advance();
  }

  /** The transport is gone. */
  lost(): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#timer.cancel();
    this.#outbox.clear();
    this.#endSessions();
    this.#handler.closed();
  }

  /** Lets the peer know what was held back of the outcomes of what it sent. */
  release(): void {
    for (const session of this.#sessions.values()) session.release();
  }

  /** Ends the connection with a reason. */
  close(error?: ErrorInfo): void {
    if (this.#phase === 'closing' || this.#phase === 'ended') return;
    const wasOpen = this.#phase === 'open';
    this.#phase = 'closing';
    if (wasOpen) this.send(0, { kind: 'close', ...(error === undefined ? {} : { error }) });
    this.#endSessions();
    this.#outbox.flush();
    this.#transport.end();
    this.#timer.cancel();
    this.#timer = this.#scheduler.after(CLOSE_MS_MAX, () => this.#abort());
  }

  send(channel: number, performative: Performative, payload?: Uint8Array): void {
    this.#write(encodeFrame('amqp', channel, writePerformative(performative), payload));
  }

  linked(link: IncomingLink | OutgoingLink): void {
    this.holdings.linked();
    if (link instanceof IncomingLink) this.#handler.incoming(link);
    else this.#handler.outgoing(link);
  }

  /** Goes on with what is there; the work of one turn leaves in one write. */
  #advance(): void {
    try {
      while (this.#step());
    } catch (error) {
      this.close(this.#explained(error));
    }
  }

  #explained(error: unknown): ErrorInfo {
    if (error instanceof AmqpError)
      return { condition: error.condition, description: error.message };
    if (error instanceof DecodeError) {
      return { condition: 'amqp:decode-error', description: error.message };
    }
    this.#handler.failed(error);
    return { condition: 'amqp:internal-error', description: 'The service failed.' };
  }

  /** One header or frame; false = more bytes are needed, or none are wanted. */
  #step(): boolean {
    switch (this.#phase) {
      case 'header':
        return this.#readHeader();
      case 'headerAgain':
        return this.#readHeaderAgain();
      case 'sasl': {
        const frame = this.#reader.frame('sasl');
        if (frame !== undefined) this.#authenticate(frame);
        return frame !== undefined;
      }
      case 'open': {
        const frame = this.#reader.frame('amqp');
        if (frame !== undefined) this.#handle(frame);
        return frame !== undefined;
      }
      default:
        return false;
    }
  }

  #readHeader(): boolean {
    const layer = this.#reader.protocolHeader();
    if (layer === undefined) return false;
    this.#write(protocolHeader(layer));
    this.#phase = layer === 'sasl' ? 'sasl' : 'open';
    if (layer === 'sasl') this.#write(mechanismsFrame(this.#handler.mechanisms));
    return true;
  }

  #readHeaderAgain(): boolean {
    const layer = this.#reader.protocolHeader();
    if (layer === undefined) return false;
    if (layer !== 'amqp') throw new DecodeError('the peer asked twice for SASL');
    this.#write(protocolHeader(layer));
    this.#phase = 'open';
    return true;
  }

  #authenticate(frame: Frame): void {
    const { mechanism, response } = readSaslInit(frame);
    this.#phase = 'authenticating';
    this.#handler.authenticate(mechanism, response).then(
      (isGood) => this.#authenticated(isGood),
      () => this.#authenticated(false),
    );
  }

  #authenticated(isGood: boolean): void {
    if (this.#phase !== 'authenticating') return;
    this.#write(outcomeFrame(isGood));
    this.#phase = 'headerAgain';
    if (isGood) this.#advance();
    else this.close();
  }

  #handle({ channel, performative, payload }: Frame): void {
    // A frame that is empty only says that the peer is still there.
    if (performative === undefined) return;
    const said = readPerformative(performative);
    if (this.#peer === undefined) {
      if (said.kind !== 'open') {
        throw new AmqpError('amqp:not-allowed', 'A connection begins with an open.');
      }
      this.#open(said);
      return;
    }
    switch (said.kind) {
      case 'open':
        throw new AmqpError('amqp:not-allowed', 'The connection is open already.');
      case 'close':
        this.close();
        return;
      case 'begin':
        if (channel > CHANNEL_MAX || this.#sessions.has(channel)) {
          throw new AmqpError('amqp:not-allowed', 'The channel is in use, or there is none such.');
        }
        this.#sessions.set(channel, new Session(channel, said, this));
        return;
      case 'end':
        this.#end(channel);
        return;
      default:
        this.#session(channel).handle(said, payload);
    }
  }

  #open(peer: Open): void {
    if ((peer.maxFrameSize ?? FRAME_BYTES_MAX) < FRAME_BYTES_MIN) {
      throw new AmqpError(
        'amqp:not-allowed',
        'The largest frame is smaller than the standard says.',
      );
    }
    this.#peer = peer;
    this.send(0, {
      kind: 'open',
      containerId: this.#containerId,
      maxFrameSize: FRAME_BYTES_MAX,
      channelMax: CHANNEL_MAX,
      idleTimeOutMs: IDLE_MS,
    });
    this.#timer.cancel();
    // 0 stands for no bound, as does nothing.
    const everyMs = Math.min((peer.idleTimeOutMs || Number.POSITIVE_INFINITY) / 3, TICK_MS_MAX);
    this.#timer = this.#scheduler.every(Math.max(everyMs, 100), () => this.#tick(everyMs));
    this.#handler.opened(peer.hostname);
  }

  /** Says something where nothing was to be said, and ends what has not been heard for long. */
  #tick(everyMs: number): void {
    const now = this.#scheduler.now();
    if (now - this.#heardAt > 2 * IDLE_MS) {
      this.close({ condition: 'amqp:resource-limit-exceeded', description: 'Nothing was heard.' });
    } else if (now - this.#outbox.saidAt >= everyMs) {
      this.#write(encodeFrame('amqp', 0));
    }
  }

  #session(channel: number): Session {
    const session = this.#sessions.get(channel);
    if (session === undefined)
      throw new AmqpError('amqp:not-allowed', 'No session has this channel.');
    return session;
  }

  #end(channel: number): void {
    const session = this.#session(channel);
    void session.ended().then(() => {
      // Meanwhile the connection may have gone.
      if (this.#sessions.get(channel) !== session) return;
      session.lost();
      this.#sessions.delete(channel);
      this.send(channel, { kind: 'end' });
    });
  }

  #endSessions(): void {
    for (const session of this.#sessions.values()) session.lost();
    this.#sessions.clear();
  }

  #write(bytes: Uint8Array): void {
    if (this.#phase !== 'ended') this.#outbox.write(bytes);
  }

  #abort(): void {
    this.#transport.destroy();
    this.lost();
  }
}
