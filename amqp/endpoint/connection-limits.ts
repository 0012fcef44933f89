import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../../shared/domain/budgets/memory-budget.ts';
import { AmqpError } from '../wire/wire-error.ts';
import type { Intake } from './intake.ts';

const { unauthorized, authorized, ...CONNECTION } = BUDGETS.connection;
const WEIGHTS = BUDGETS.weights;

type Limits = { readonly [Limit in keyof typeof unauthorized]: number };

/**
 * Counts the memory and work that one connection costs the process, and enforces `BUDGETS.connection`. The
 * limits are low until the peer is authorized, that is, has sent a token or key of a known rule.
 * Methods that add to a count throw AmqpError `amqp:resource-limit-exceeded`, unless they return false.
 */
export class ConnectionLimits {
  readonly #memory: MemoryBudget;
  readonly #share: MemoryShare;
  /** Memory of work under way for the peer. It goes on after the connection has ended. */
  readonly #work: MemoryShare;
  readonly #intake: Pick<Intake, 'pause' | 'resume'>;
  readonly #onGone = new Set<(isAll: boolean) => void>();
  /** Once the connection is gone: memory of deliveries that it received and that have no outcome yet. */
  #remainder: MemoryShare | undefined;
  #limits: Limits = unauthorized;
  #isLost = false;
  #sessions = 0;
  #links = 0;
  #incomingBytes = 0;
  #outgoingBytes = 0;
  /** Work of the current turn, in frames: one for each frame, and more for large ones. */
  #turnWork = 0;
  #unreadBytes = 0;
  #checksUnderWay = 0;

  /** `evict` ends the connection; see `MemoryBudget.open`. */
  constructor(memory: MemoryBudget, intake: Pick<Intake, 'pause' | 'resume'>, evict: () => void) {
    this.#memory = memory;
    this.#intake = intake;
    const end = () => {
      // The connection has ended already; only work for it goes on.
      if (this.#remainder !== undefined) return;
      evict();
      this.close();
    };
    this.#share = memory.openUnauthorized(unauthorized.heldBytes, end);
    this.#work = memory.openUnauthorized(unauthorized.heldBytes, end);
    // Deferred, because the constructor of the connection that `evict` ends has not returned yet.
    if (!this.tryHold(WEIGHTS.connectionBytes)) queueMicrotask(evict);
  }

  /** Bytes that the connection holds, including work under way for it. */
  get held(): number {
    return this.#share.held + this.#work.held;
  }

  /** Whether the peer is authorized. */
  get isAuthorized(): boolean {
    return this.#limits === authorized;
  }

  /** Whether the connection is gone without a close, so that the peer cannot receive outcomes. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The maximum size of a request to `$cbs` or `$management`: bytes, and decoded values. */
  get requestLimits(): { readonly bytes: number; readonly values: number } {
    return { bytes: this.#limits.requestBytes, values: this.#limits.requestValues };
  }

  /** Bytes of messages that wait for the peer to open its windows. */
  get outgoingBytes(): number {
    return this.#outgoingBytes;
  }

  /** Whether the work counted since `beginTurn` fills one turn. */
  get isTurnOver(): boolean {
    return this.#turnWork >= this.#limits.turnFrames;
  }

  /** Starts counting the work of a turn. */
  beginTurn(): void {
    this.#turnWork = 0;
  }

  /** Counts a frame for the current turn; `decodedBytes` = memory of its performative. */
  countFrame(decodedBytes = 0): void {
    this.#turnWork += 1 + decodedBytes / CONNECTION.decodedBytesPerFrame;
  }

  /** Counts the bytes of a request for the current turn. */
  countRequestBytes(bytes: number): void {
    this.#turnWork += bytes / CONNECTION.requestBytesPerFrame;
  }

  /** Raises the limits, since the peer is authorized. */
  authorize(): void {
    this.#limits = authorized;
    this.#share.authorize(authorized.heldBytes);
    this.#work.authorize(authorized.heldBytes);
    // Not evictable: work goes on without its connection, so an eviction would free nothing.
    this.#work.pin();
    this.#intake.resume('check');
  }

  /**
   * Runs work that checks a right of the peer. Until the peer is authorized, reading pauses meanwhile:
   * such a peer gets one check at a time, and a refusal counts before the next.
   */
  async check<T>(work: () => Promise<T>): Promise<T> {
    this.#checksUnderWay++;
    if (!this.isAuthorized) this.#intake.pause('check');
    try {
      return await work();
    } finally {
      this.#checksUnderWay--;
      if (this.#checksUnderWay === 0) this.#intake.resume('check');
    }
  }

  /** Adds bytes to what the connection holds. */
  hold(bytes: number): void {
    if (!this.tryHold(bytes)) {
      throw exceeded('The connection exceeds its memory limit.');
    }
  }

  /** The same, but returns false instead of throwing. */
  tryHold(bytes: number): boolean {
    return this.held + bytes <= this.#limits.heldBytes && this.#share.hold(bytes);
  }

  /** Gives bytes back that `hold` or `tryHold` added. */
  release(bytes: number): void {
    this.#share.release(bytes);
  }

  /** Holds the bytes of an incomplete frame, in place of those of the last call. */
  setUnreadBytes(bytes: number): void {
    this.release(this.#unreadBytes);
    this.#unreadBytes = 0;
    this.hold(bytes);
    this.#unreadBytes = bytes;
  }

  /** Counts a session that begins. */
  sessionBegun(): void {
    if (this.#sessions >= this.#limits.sessions) throw this.#tooMany('sessions');
    this.hold(WEIGHTS.sessionBytes);
    this.#sessions++;
  }

  /** Counts a session that has ended. */
  sessionEnded(): void {
    this.#sessions--;
    this.release(WEIGHTS.sessionBytes);
  }

  /** Counts a link that attaches. */
  linkAttached(): void {
    if (this.#links >= this.#limits.links) throw this.#tooMany('links');
    this.hold(WEIGHTS.linkBytes);
    this.#links++;
  }

  /** Counts a link that has detached on both sides. */
  linkDetached(): void {
    this.#links--;
    this.release(WEIGHTS.linkBytes);
  }

  /**
   * Counts a complete message of `bytes` from the peer. Pauses reading while too many bytes of messages have
   * no outcome.
   */
  messageReceived(bytes: number): void {
    this.hold(bytes + WEIGHTS.deliveryBytes);
    this.#incomingBytes += bytes + WEIGHTS.deliveryBytes;
    if (this.#incomingBytes > this.#incomingMax) this.#intake.pause('deliveries');
  }

  /** Counts a received message that has its outcome, or was aborted. */
  messageFinished(bytes: number): void {
    (this.#remainder ?? this.#share).release(bytes + WEIGHTS.deliveryBytes);
    this.#incomingBytes -= bytes + WEIGHTS.deliveryBytes;
    if (this.#incomingBytes <= this.#incomingMax / 2) this.#intake.resume('deliveries');
  }

  /**
   * Holds the memory of a request or settlement until `releaseWork`, also after the connection is gone.
   * Returns false if that exceeds a limit; a small amount is always granted.
   */
  tryHoldWork(bytes: number): boolean {
    const work = this.#work.held + bytes;
    if (work <= CONNECTION.workBytesMin) {
      this.#work.holdAnyway(bytes);
      return true;
    }
    if (work > this.#memory.limit * CONNECTION.workShareOfProcess) return false;
    return this.held + bytes <= this.#limits.heldBytes && this.#work.hold(bytes);
  }

  /** Gives bytes back that `tryHoldWork` added. */
  releaseWork(bytes: number): void {
    this.#work.release(bytes);
  }

  /** Holds bytes of a message that waits for the peer's window. Returns false if that exceeds a limit. */
  tryHoldOutgoing(bytes: number): boolean {
    if (!this.tryHold(bytes)) return false;
    this.#outgoingBytes += bytes;
    return true;
  }

  /** Gives bytes back that `tryHoldOutgoing` added. */
  releaseOutgoing(bytes: number): void {
    this.release(bytes);
    this.#outgoingBytes -= bytes;
  }

  /**
   * Calls a listener when the connection is gone without a close. The listener must abort deliveries that
   * wait and whose outcome the peer expects, or all (`isAll`) if their memory is evicted. Returns a function
   * that removes the listener.
   */
  onGone(listener: (isAll: boolean) => void): () => void {
    this.#onGone.add(listener);
    return () => {
      this.#onGone.delete(listener);
    };
  }

  /**
   * Releases what the connection held, since it is gone. Work under way, and received deliveries without an
   * outcome, count until they are done. `isOrderly` = the connection was closed, so that what the peer sent
   * before the close is still carried out.
   */
  close(isOrderly = false): void {
    if (this.#remainder !== undefined) return;
    this.#isLost = !isOrderly;
    if (!isOrderly) this.#notifyGone(false);
    this.#remainder = this.#share.leave(this.#incomingBytes, () => {
      this.#notifyGone(true);
      // What listeners did not abort is under way and cannot be evicted.
      this.#remainder = this.#share.leave(this.#incomingBytes, () => {});
      this.#remainder.pin();
    });
  }

  #notifyGone(isAll: boolean): void {
    for (const listener of this.#onGone) listener(isAll);
  }

  /** Bytes of messages without an outcome; lower when memory is short, however many connections send. */
  get #incomingMax(): number {
    const { incomingBytes, incomingBytesMin, incomingShareOfFree } = CONNECTION;
    const share = this.#memory.free * incomingShareOfFree;
    return Math.max(incomingBytesMin, Math.min(incomingBytes, share));
  }

  #tooMany(what: 'sessions' | 'links'): AmqpError {
    const until = this.isAuthorized ? '' : ' until it is authorized';
    return exceeded(`A connection has no more than ${this.#limits[what]} ${what}${until}.`);
  }
}

function exceeded(sentence: string): AmqpError {
  return new AmqpError('amqp:resource-limit-exceeded', sentence);
}
