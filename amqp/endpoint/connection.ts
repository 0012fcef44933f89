import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';
import { encodeFrame, type Frame, FrameReader } from '../wire/frames.ts';
import { type Open, type Performative, readPerformative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import { writePerformative } from '../wire/write-performative.ts';
import { CHANNEL_MAX, Channels } from './channels.ts';
import { CROWDED_OUT, endBy, NOT_PROVED, notAllowed, SILENT } from './connection-ends.ts';
import { ConnectionLimits } from './connection-limits.ts';
import type { ConnectionHandler } from './handlers.ts';
import { Handshake } from './handshake.ts';
import { Heartbeat, IDLE_MS } from './heartbeat.ts';
import { IncomingLink } from './incoming-link.ts';
import type { InputTurns } from './input-turns.ts';
import { Intake } from './intake.ts';
import { Outbox } from './outbox.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import type { SessionHost } from './session.ts';
import type { Transport } from './transport.ts';

const { frameBytes: FRAME_BYTES_MAX, handshakeMs: HANDSHAKE_MS_MAX } = BUDGETS.connection;
/** The least that the standard lets a peer ask for. */
const FRAME_BYTES_MIN = 512;
/** How long a peer may take to answer our close. */
const CLOSE_MS_MAX = 5_000;

type Phase = 'handshake' | 'open' | 'closing' | 'ended';

/** What we call ourselves, and what a connection waits by. */
export interface ConnectionOptions {
  readonly containerId: string;
  readonly scheduler: Scheduler;
  readonly turns: InputTurns;
  /** What all connections of the process may hold. */
  readonly memory: MemoryBudget;
  /** Told of a connection that was closed to make room for others; its peer may not have heard yet. */
  readonly crowdedOut?: (connection: Connection) => void;
}

/**
 * The server's end of one AMQP connection: bytes in, bytes out. What the peer gets wrong ends the
 * connection with an error that says so, and nothing else.
 */
export class Connection implements SessionHost {
  readonly limits: ConnectionLimits;
  readonly outgoing: Outbox;
  readonly #transport: Transport;
  readonly #scheduler: Scheduler;
  readonly #turns: InputTurns;
  readonly #handler: ConnectionHandler;
  readonly #containerId: string;
  readonly #crowdedOut: (connection: Connection) => void;
  readonly #intake: Intake;
  #reader = new FrameReader();
  readonly #handshake: Handshake;
  readonly #heartbeat: Heartbeat;
  readonly #channels = new Channels(this);
  #phase: Phase = 'handshake';
  #isAdvancing = false;
  /** What is left to do of the last frame. */
  #rest: (() => boolean) | undefined;
  #peer: Open | undefined;
  #frameBytesMax: number = BUDGETS.connection.openFrameBytes;
  #timer: Timer;
  /** Ends a connection whose peer proves no right in time. */
  #proof: Timer;
  /** Bytes that came in after the close. */
  #ignored = 0;

  constructor(
    transport: Transport,
    { containerId, scheduler, turns, memory, crowdedOut = () => {} }: ConnectionOptions,
    createHandler: (connection: Connection) => ConnectionHandler,
  ) {
    this.#transport = transport;
    this.#scheduler = scheduler;
    this.#turns = turns;
    this.#intake = new Intake(transport, () => this.#advance());
    this.limits = new ConnectionLimits(memory, this.#intake, () => this.makeRoom());
    this.#crowdedOut = crowdedOut;
    this.outgoing = new Outbox(transport, {
      scheduler,
      intake: this.#intake,
      limits: this.limits,
      onFull: () => this.abort(),
    });
    this.#containerId = containerId;
    this.#handler = createHandler(this);
    this.#handshake = new Handshake(this.#handler, {
      write: (bytes) => {
        if (this.#phase === 'handshake') this.#write(bytes);
      },
      goOn: () => this.#advance(),
      refuse: () => this.close(),
    });
    this.#heartbeat = new Heartbeat(scheduler, {
      saidAt: () => this.outgoing.saidAt,
      say: () => this.#write(encodeFrame('amqp', 0)),
      silent: () => this.close(SILENT),
    });
    this.#timer = scheduler.after(HANDSHAKE_MS_MAX, () => this.abort());
    this.#proof = scheduler.after(BUDGETS.connection.proveRightMs, () => this.close(NOT_PROVED));
  }

  get maxFrameSize(): number {
    return Math.min(this.#peer?.maxFrameSize ?? FRAME_BYTES_MAX, FRAME_BYTES_MAX);
  }

  /** Bytes that are to be sent and that the peer has not taken yet. */
  get backlog(): number {
    return this.outgoing.backlog + this.limits.outgoingBytes;
  }

  /** The peer has proved a right: a token or key of its is good for something. */
  proved(): void {
    this.#proof.cancel();
    this.limits.prove();
  }

  /** Whether there is time now for what came in; where not, `goOn` is called once there is. */
  hasTime(goOn: () => void): boolean {
    return this.#turns.hasTime(this.limits, goOn);
  }

  /** Takes what came in. */
  input(bytes: Uint8Array): void {
    if (this.#phase === 'closing' || this.#phase === 'ended') {
      // A peer that goes on for long has not heard of the close.
      this.#ignored += bytes.byteLength;
      if (this.#ignored > BUDGETS.connection.ignoredBytes) this.abort();
    } else {
      this.#heartbeat.heard();
      this.#reader.push(bytes);
      this.#advance();
    }
  }

  /** The transport is gone. */
  lost(): void {
    if (this.#phase === 'ended') return;
    const isOrderly = this.#phase === 'closing';
    this.#phase = 'ended';
    this.#stop();
    this.outgoing.clear();
    this.limits.close(isOrderly);
    this.#handler.closed();
  }

  /** Lets the peer know what was held back of the outcomes of what it sent. */
  release(): void {
    this.#channels.release();
  }

  /** Ends the connection with a reason. */
  close(error?: ErrorInfo): void {
    if (this.#phase === 'closing' || this.#phase === 'ended') return;
    const wasOpen = this.#phase === 'open';
    this.#phase = 'closing';
    this.outgoing.closing();
    if (wasOpen) this.send(0, { kind: 'close', ...(error === undefined ? {} : { error }) });
    this.#stop();
    this.outgoing.flush();
    this.#transport.end();
    this.#timer = this.#scheduler.after(CLOSE_MS_MAX, () => this.abort());
  }

  /**
   * Ends the connection to make room for others: with the reason, unless so much is to be sent before
   * it that this would have to be kept until the peer takes it.
   */
  makeRoom(): void {
    if (this.backlog > BUDGETS.weights.connectionBytes) {
      this.abort();
      return;
    }
    this.close(CROWDED_OUT);
    this.#crowdedOut(this);
  }

  /** Ends the connection at once. */
  abort(): void {
    this.#transport.destroy();
    this.lost();
  }

  send(channel: number, performative: Performative, payload?: Uint8Array): void {
    this.#write(encodeFrame('amqp', channel, writePerformative(performative), payload));
  }

  inSteps(step: () => boolean): void {
    this.#rest = step() ? undefined : step;
  }

  linked(link: IncomingLink | OutgoingLink): void {
    if (link instanceof IncomingLink) this.#handler.incoming(link);
    else this.#handler.outgoing(link);
  }

  /** Goes on with what is there, for a turn at most. */
  #advance(): void {
    // A pause that ends while a frame is handled: the next frame waits until that is done.
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    this.limits.beginTurn();
    try {
      while (this.#turns.mayGoOn(this.limits, this.#intake) && this.#step());
      this.limits.unread(this.#reader.keep());
    } catch (error) {
      this.close(endBy(error, (fault) => this.#handler.failed(fault)));
    } finally {
      this.#isAdvancing = false;
    }
  }

  /** One header, frame or step of a frame; false = more bytes are needed, or none are wanted. */
  #step(): boolean {
    switch (this.#phase) {
      case 'handshake': {
        const step = this.#handshake.step(this.#reader);
        if (step === 'done') this.#phase = 'open';
        return step !== 'waits';
      }
      case 'open':
        if (this.#rest === undefined) return this.#nextFrame();
        this.limits.handled();
        this.inSteps(this.#rest);
        return true;
      default:
        return false;
    }
  }

  #nextFrame(): boolean {
    const frame = this.#reader.frame('amqp', this.#frameBytesMax);
    if (frame === undefined) return false;
    this.limits.handled(frame.weight);
    this.#handle(frame);
    return true;
  }

  #handle({ channel, performative, weight, payload }: Frame): void {
    // A frame that is empty only says that the peer is still there.
    if (performative === undefined) return;
    const said = readPerformative(performative);
    if (this.#peer === undefined) {
      if (said.kind !== 'open') throw notAllowed('A connection begins with an open.');
      this.#open(said);
      return;
    }
    switch (said.kind) {
      case 'open':
        throw notAllowed('The connection is open already.');
      case 'close':
        this.close();
        return;
      case 'begin':
        this.#channels.begin(channel, said);
        return;
      case 'end':
        this.#channels.end(channel);
        return;
      default:
        this.#channels.at(channel).handle(said, payload, weight);
    }
  }

  #open(peer: Open): void {
    const { maxFrameSize = FRAME_BYTES_MAX } = peer;
    if (maxFrameSize < FRAME_BYTES_MIN) throw notAllowed('A max-frame-size is 512 at least.');
    this.#peer = peer;
    this.#frameBytesMax = FRAME_BYTES_MAX;
    this.send(0, {
      kind: 'open',
      containerId: this.#containerId,
      maxFrameSize: FRAME_BYTES_MAX,
      channelMax: CHANNEL_MAX,
      idleTimeOutMs: IDLE_MS,
    });
    this.#timer.cancel();
    this.#heartbeat.start(peer.idleTimeOutMs);
    this.#handler.opened(peer.hostname);
  }

  /** Ends what is under way, and waits for nothing more. */
  #stop(): void {
    for (const timer of [this.#timer, this.#proof]) timer.cancel();
    this.#heartbeat.stop();
    this.#intake.close();
    this.#channels.lost();
    this.#reader = new FrameReader();
  }

  #write(bytes: Uint8Array): void {
    if (this.#phase !== 'ended') this.outgoing.write(bytes);
  }
}
