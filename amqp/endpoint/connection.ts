import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';
import { encodeFrame, type Frame, FrameReader } from '../wire/frames.ts';
import type { Open, Performative } from '../wire/performatives.ts';
import { readPerformative, writePerformative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import { CHANNEL_MAX, Channels } from './channels.ts';
import { closeReason, EVICTED, IDLE_TIMEOUT, notAllowed, UNAUTHORIZED } from './close-errors.ts';
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
/** The smallest max-frame-size that the standard allows. */
const FRAME_BYTES_MIN = 512;
/** How long a peer may take to answer our close. */
const CLOSE_MS_MAX = 5_000;

type Phase = 'handshake' | 'open' | 'closing' | 'ended';

/** Settings and shared services of a connection. */
export interface ConnectionOptions {
  readonly containerId: string;
  readonly scheduler: Scheduler;
  readonly turns: InputTurns;
  /** The memory budget of all connections of the process. */
  readonly memory: MemoryBudget;
  /** Called with a connection that was closed to free memory. Its peer may not have read the close yet. */
  readonly onEvicted?: (connection: Connection) => void;
}

/**
 * The server's end of one AMQP connection: bytes in, bytes out. A protocol violation of the peer closes this
 * connection with an error and affects nothing else.
 */
export class Connection implements SessionHost {
  readonly limits: ConnectionLimits;
  readonly outgoing: Outbox;
  readonly #transport: Transport;
  readonly #scheduler: Scheduler;
  readonly #turns: InputTurns;
  readonly #handler: ConnectionHandler;
  readonly #containerId: string;
  readonly #onEvicted: (connection: Connection) => void;
  readonly #intake: Intake;
  #reader = new FrameReader();
  readonly #handshake: Handshake;
  readonly #heartbeat: Heartbeat;
  readonly #channels = new Channels(this);
  #phase: Phase = 'handshake';
  #isAdvancing = false;
  /** The remaining steps of the last frame. */
  #steps: (() => boolean) | undefined;
  #peer: Open | undefined;
  #frameBytesMax: number = BUDGETS.connection.openFrameBytes;
  #timer: Timer;
  /** Closes the connection if the peer is not authorized in time. */
  #authorizationTimer: Timer;
  /** Bytes that arrived after the close. */
  #ignoredBytes = 0;

  constructor(
    transport: Transport,
    { containerId, scheduler, turns, memory, onEvicted = () => {} }: ConnectionOptions,
    createHandler: (connection: Connection) => ConnectionHandler,
  ) {
    this.#transport = transport;
    this.#scheduler = scheduler;
    this.#turns = turns;
    this.#intake = new Intake(transport, () => this.#advance());
    this.limits = new ConnectionLimits(memory, this.#intake, () => this.evict());
    this.#onEvicted = onEvicted;
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
      resume: () => this.#advance(),
      refuse: () => this.close(),
    });
    this.#heartbeat = new Heartbeat(scheduler, {
      lastWriteAt: () => this.outgoing.lastWriteAt,
      sendEmptyFrame: () => this.#write(encodeFrame('amqp', 0)),
      timeOut: () => this.close(IDLE_TIMEOUT),
    });
    this.#timer = scheduler.after(HANDSHAKE_MS_MAX, () => this.abort());
    this.#authorizationTimer = scheduler.after(BUDGETS.connection.authorizeMs, () =>
      this.close(UNAUTHORIZED),
    );
  }

  get maxFrameSize(): number {
    return Math.min(this.#peer?.maxFrameSize ?? FRAME_BYTES_MAX, FRAME_BYTES_MAX);
  }

  /** Bytes to be sent that the peer has not taken yet. */
  get backlog(): number {
    return this.outgoing.backlog + this.limits.outgoingBytes;
  }

  /** Raises the limits, since the peer is authorized by a valid token or key. */
  authorize(): void {
    this.#authorizationTimer.cancel();
    this.limits.authorize();
  }

  /** Whether this turn has time for input. If not, `resume` is called once there is. */
  hasTime(resume: () => void): boolean {
    return this.#turns.hasTime(this.limits, resume);
  }

  /** Handles bytes that arrived. */
  input(bytes: Uint8Array): void {
    if (this.#phase === 'closing' || this.#phase === 'ended') {
      // A peer that keeps sending ignores the close.
      this.#ignoredBytes += bytes.byteLength;
      if (this.#ignoredBytes > BUDGETS.connection.ignoredBytes) this.abort();
    } else {
      this.#heartbeat.inputReceived();
      this.#reader.push(bytes);
      this.#advance();
    }
  }

  /** Ends the connection, since its transport is gone. */
  transportClosed(): void {
    if (this.#phase === 'ended') return;
    const isOrderly = this.#phase === 'closing';
    this.#phase = 'ended';
    this.#stop();
    this.outgoing.clear();
    this.limits.close(isOrderly);
    this.#handler.closed();
  }

  /** Sends the outcomes that `IncomingLink.holdOutcomes` held back. */
  releaseOutcomes(): void {
    this.#channels.releaseOutcomes();
  }

  /** Closes the connection, with an error unless the close is orderly. */
  close(error?: ErrorInfo): void {
    if (this.#phase === 'closing' || this.#phase === 'ended') return;
    const wasOpen = this.#phase === 'open';
    this.#phase = 'closing';
    this.outgoing.exemptFromLimit();
    if (wasOpen) this.send(0, { kind: 'close', ...(error === undefined ? {} : { error }) });
    this.#stop();
    this.outgoing.flush();
    this.#transport.end();
    this.#timer = this.#scheduler.after(CLOSE_MS_MAX, () => this.abort());
  }

  /**
   * Closes the connection to free memory for others. If much output waits to be sent before the close, the
   * connection is aborted instead, since that output would stay in memory until the peer takes it.
   */
  evict(): void {
    if (this.backlog > BUDGETS.weights.connectionBytes) {
      this.abort();
      return;
    }
    this.close(EVICTED);
    this.#onEvicted(this);
  }

  /** Ends the connection at once, without a close. */
  abort(): void {
    this.#transport.destroy();
    this.transportClosed();
  }

  send(channel: number, performative: Performative, payload?: Uint8Array): void {
    this.#write(encodeFrame('amqp', channel, writePerformative(performative), payload));
  }

  runInSteps(step: () => boolean): void {
    this.#steps = step() ? undefined : step;
  }

  linked(link: IncomingLink | OutgoingLink): void {
    if (link instanceof IncomingLink) this.#handler.incoming(link);
    else this.#handler.outgoing(link);
  }

  /** Handles the input that has arrived, for one turn at most. */
  #advance(): void {
    // A pause may end while a frame is handled. The loop below continues with the next frame.
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    this.limits.beginTurn();
    try {
      while (this.#turns.mayContinue(this.limits, this.#intake) && this.#step());
      this.limits.setUnreadBytes(this.#reader.compactUnread());
    } catch (error) {
      this.close(closeReason(error, (fault) => this.#handler.failed(fault)));
    } finally {
      this.#isAdvancing = false;
    }
  }

  /** Handles a header, a frame or a step of one. False = it needs more bytes, or the connection has ended. */
  #step(): boolean {
    switch (this.#phase) {
      case 'handshake': {
        const step = this.#handshake.step(this.#reader);
        if (step === 'done') this.#phase = 'open';
        return step !== 'waits';
      }
      case 'open':
        if (this.#steps === undefined) return this.#nextFrame();
        this.limits.countFrame();
        this.runInSteps(this.#steps);
        return true;
      default:
        return false;
    }
  }

  #nextFrame(): boolean {
    const frame = this.#reader.frame('amqp', this.#frameBytesMax);
    if (frame === undefined) return false;
    this.limits.countFrame(frame.decodedBytes);
    this.#handle(frame);
    return true;
  }

  #handle({ channel, performative, decodedBytes, payload }: Frame): void {
    // An empty frame is a heartbeat.
    if (performative === undefined) return;
    const received = readPerformative(performative);
    if (this.#peer === undefined) {
      if (received.kind !== 'open') throw notAllowed('A connection begins with an open.');
      this.#open(received);
      return;
    }
    switch (received.kind) {
      case 'open':
        throw notAllowed('The connection is open already.');
      case 'close':
        this.close();
        return;
      case 'begin':
        this.#channels.begin(channel, received);
        return;
      case 'end':
        this.#channels.end(channel);
        return;
      default:
        this.#channels.at(channel).handle(received, payload, decodedBytes);
    }
  }

  #open(peer: Open): void {
    const { maxFrameSize = FRAME_BYTES_MAX } = peer;
    if (maxFrameSize < FRAME_BYTES_MIN)
      throw notAllowed('The max-frame-size must be at least 512.');
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

  /** Cancels all timers, sessions and reading. */
  #stop(): void {
    for (const timer of [this.#timer, this.#authorizationTimer]) timer.cancel();
    this.#heartbeat.stop();
    this.#intake.close();
    this.#channels.discardAll();
    this.#reader = new FrameReader();
  }

  #write(bytes: Uint8Array): void {
    if (this.#phase !== 'ended') this.outgoing.write(bytes);
  }
}
