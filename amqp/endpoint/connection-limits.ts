import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../../shared/domain/budgets/memory-budget.ts';
import { AmqpError } from '../wire/wire-error.ts';
import type { Intake } from './intake.ts';

const { beforeRight, afterRight, ...CONNECTION } = BUDGETS.connection;
const WEIGHTS = BUDGETS.weights;

type Limits = { readonly [Limit in keyof typeof beforeRight]: number };

/**
 * Counts what one connection has the process hold and do, and refuses what is more than
 * `BUDGETS.connection` allows: little until the peer has proved a right. Methods that count more of
 * something throw AmqpError `amqp:resource-limit-exceeded`, unless they say otherwise.
 */
export class ConnectionLimits {
  readonly #memory: MemoryBudget;
  readonly #share: MemoryShare;
  /** What is under way for the peer, which is not ended with its connection. */
  readonly #work: MemoryShare;
  readonly #intake: Pick<Intake, 'pause' | 'resume'>;
  readonly #onGone = new Set<(isAll: boolean) => void>();
  /** What came in and has no outcome yet, of a connection that is gone. */
  #rest: MemoryShare | undefined;
  #limits: Limits = beforeRight;
  #isLost = false;
  #sessions = 0;
  #links = 0;
  #incomingBytes = 0;
  #outgoingBytes = 0;
  #turnWork = 0;
  #unread = 0;
  #checks = 0;

  /** `evict` ends the connection; see `MemoryBudget.open`. */
  constructor(memory: MemoryBudget, intake: Pick<Intake, 'pause' | 'resume'>, evict: () => void) {
    this.#memory = memory;
    this.#intake = intake;
    const end = () => {
      // Work may go on without its connection.
      if (this.#rest !== undefined) return;
      evict();
      this.close();
    };
    this.#share = memory.openBeforeRight(beforeRight.heldBytes, end);
    this.#work = memory.openBeforeRight(beforeRight.heldBytes, end);
    // The connection that is to end is not built yet.
    if (!this.tryHold(WEIGHTS.connectionBytes)) queueMicrotask(evict);
  }

  /** Bytes that the connection holds, with what is under way for it. */
  get held(): number {
    return this.#share.held + this.#work.held;
  }

  /** Whether the peer has proved a right. */
  get isProved(): boolean {
    return this.#limits === afterRight;
  }

  /** Whether the connection is gone without a close: nobody can hear of outcomes. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The largest request to `$cbs` or `$management`, bytes, and the most values in one. */
  get request(): { readonly bytes: number; readonly values: number } {
    return { bytes: this.#limits.requestBytes, values: this.#limits.requestValues };
  }

  /** Bytes of messages that wait for the peer to open its windows. */
  get outgoingBytes(): number {
    return this.#outgoingBytes;
  }

  /** Whether what was handled since `beginTurn` is enough for one turn. */
  get isTurnOver(): boolean {
    return this.#turnWork >= this.#limits.turnFrames;
  }

  beginTurn(): void {
    this.#turnWork = 0;
  }

  /** A frame was handled whose performative took so many bytes once it was decoded. */
  handled(decodedBytes = 0): void {
    this.#turnWork += 1 + decodedBytes / CONNECTION.decodedBytesPerFrame;
  }

  /** So many bytes of a request were read for one frame. */
  read(bytes: number): void {
    this.#turnWork += bytes / CONNECTION.requestBytesPerFrame;
  }

  /** The peer has proved a right: from now on it may have more held. */
  prove(): void {
    this.#limits = afterRight;
    this.#share.prove(afterRight.heldBytes);
    this.#work.prove(afterRight.heldBytes);
    // To end the connection would make no room: the work goes on.
    this.#work.pin();
    this.#intake.resume('check');
  }

  /**
   * Does what the peer may have no right to. Until it has proved one nothing is read meanwhile, so that
   * one thing at a time is done for it, and refusals count before the next.
   */
  async check<T>(work: () => Promise<T>): Promise<T> {
    this.#checks++;
    if (!this.isProved) this.#intake.pause('check');
    try {
      return await work();
    } finally {
      this.#checks--;
      if (this.#checks === 0) this.#intake.resume('check');
    }
  }

  /** Holds bytes. */
  hold(bytes: number): void {
    if (!this.tryHold(bytes)) {
      throw exceeded('The connection holds more memory than the service has for it.');
    }
  }

  /** Holds bytes; false instead of an error. */
  tryHold(bytes: number): boolean {
    return this.held + bytes <= this.#limits.heldBytes && this.#share.hold(bytes);
  }

  release(bytes: number): void {
    this.#share.release(bytes);
  }

  /** So many bytes wait for the rest of their frame now. */
  unread(bytes: number): void {
    this.release(this.#unread);
    this.#unread = 0;
    this.hold(bytes);
    this.#unread = bytes;
  }

  /** A session has begun. */
  begun(): void {
    if (this.#sessions >= this.#limits.sessions) throw this.#tooMany('sessions');
    this.hold(WEIGHTS.sessionBytes);
    this.#sessions++;
  }

  /** A session has ended. */
  ended(): void {
    this.#sessions--;
    this.release(WEIGHTS.sessionBytes);
  }

  /** There is a link more. */
  linked(): void {
    if (this.#links >= this.#limits.links) throw this.#tooMany('links');
    this.hold(WEIGHTS.linkBytes);
    this.#links++;
  }

  /** A link has ended on both sides. */
  unlinked(): void {
    this.#links--;
    this.release(WEIGHTS.linkBytes);
  }

  /** A message came in whole. With many that have no outcome, nothing more is read. */
  received(bytes: number): void {
    this.hold(bytes + WEIGHTS.deliveryBytes);
    this.#incomingBytes += bytes + WEIGHTS.deliveryBytes;
    if (this.#incomingBytes > this.#incomingMax) this.#intake.pause('deliveries');
  }

  /** A message that came in has its outcome, or is given up. */
  finished(bytes: number): void {
    (this.#rest ?? this.#share).release(bytes + WEIGHTS.deliveryBytes);
    this.#incomingBytes -= bytes + WEIGHTS.deliveryBytes;
    if (this.#incomingBytes <= this.#incomingMax / 2) this.#intake.resume('deliveries');
  }

  /**
   * Holds bytes that work under way takes until it is done, also when the connection is gone: requests, and
   * messages that are settled. False where there is no room; a little is held in any case.
   */
  tryHoldWork(bytes: number): boolean {
    const work = this.#work.held + bytes;
    if (work <= CONNECTION.workBytesAnyway) {
      this.#work.holdAnyway(bytes);
      return true;
    }
    if (work > this.#memory.limit * CONNECTION.workShareOfProcess) return false;
    return this.held + bytes <= this.#limits.heldBytes && this.#work.hold(bytes);
  }

  /** So many bytes of work are done. */
  releaseWork(bytes: number): void {
    this.#work.release(bytes);
  }

  /** Bytes of a message wait for the peer to open its window; false where there is no room. */
  tryWait(bytes: number): boolean {
    if (!this.tryHold(bytes)) return false;
    this.#outgoingBytes += bytes;
    return true;
  }

  /** Bytes wait no longer for the peer's window. */
  waited(bytes: number): void {
    this.release(bytes);
    this.#outgoingBytes -= bytes;
  }

  /**
   * Has a listener called once the connection is gone and nobody can hear of outcomes: it is to give up
   * what waits and whose outcome the peer wants to know, or all (`isAll`) where what is left of the
   * connection makes room for others. Returns how to stop listening.
   */
  onGone(listener: (isAll: boolean) => void): () => void {
    this.#onGone.add(listener);
    return () => {
      this.#onGone.delete(listener);
    };
  }

  /**
   * The connection is gone, with all it held but work under way, and what came in and has no outcome yet: that
   * counts until it has. `isOrderly` = it was closed, and what came before that is wanted.
   */
  close(isOrderly = false): void {
    if (this.#rest !== undefined) return;
    this.#isLost = !isOrderly;
    if (!isOrderly) this.#giveUp(false);
    this.#rest = this.#share.leave(this.#incomingBytes, () => {
      this.#giveUp(true);
      // What is under way is not ended.
      this.#rest = this.#share.leave(this.#incomingBytes, () => {});
      this.#rest.pin();
    });
  }

  #giveUp(isAll: boolean): void {
    for (const listener of this.#onGone) listener(isAll);
  }

  /** Less where the process has little room: so it never runs out of it however many send. */
  get #incomingMax(): number {
    const { incomingBytes, incomingBytesMin, incomingShareOfFree } = CONNECTION;
    const share = this.#memory.free * incomingShareOfFree;
    return Math.max(incomingBytesMin, Math.min(incomingBytes, share));
  }

  #tooMany(what: 'sessions' | 'links'): AmqpError {
    const until = this.isProved ? '' : ' until it has proved a right';
    return exceeded(`A connection has no more than ${this.#limits[what]} ${what}${until}.`);
  }
}

function exceeded(sentence: string): AmqpError {
  return new AmqpError('amqp:resource-limit-exceeded', sentence);
}
