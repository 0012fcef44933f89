import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { PayloadAccount } from '../../shared/domain/messages/payload-account.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';

const { backlogBytes, claimBytes, claimedMessageBytes, largeClaim } = BUDGETS.connection;
/** How long until it is looked again what the peer has taken. */
const POLL_MS = { first: 20, most: 1000 };

/** Who waits for room. */
interface QueuedWork {
  /** Takes the room, where there is enough. */
  readonly take: () => boolean;
  /** Whether it is still of use. */
  readonly isWanted: () => boolean;
  readonly resume: () => void;
}

/**
 * How many messages the links of one connection claim together: no more than its peer takes soon, so
 * that they wait in the queue, where they are counted, and not here. A connection whose peer reads is
 * never ended for what is sent to it.
 */
export class ClaimBudget {
  readonly #scheduler: Scheduler;
  readonly #backlog: () => number;
  /** Messages that were claimed go before further claims. */
  #waitingSends: QueuedWork[] = [];
  #waitingClaims: QueuedWork[] = [];
  /** Bytes that the claims under way may bring. */
  #claimedBytes = 0;
  /** Whether a claim under way brings a large message: one does at a time. */
  #hasLarge = false;
  readonly #memory: MemoryBudget;
  #isPolling = false;

  /** `backlog` = bytes that the peer has not taken yet. */
  constructor(scheduler: Scheduler, memory: MemoryBudget, backlog: () => number) {
    this.#scheduler = scheduler;
    this.#memory = memory;
    this.#backlog = backlog;
  }

  /** A claim of so many messages at most, which has no room yet. */
  claim(messages: number, isWanted: () => boolean): Claim {
    const bytes = Math.min(messages * claimedMessageBytes, LIMITS.receiveBytes);
    const take = () => {
      if (this.#backlog() > backlogBytes || this.#claimedBytes + bytes > claimBytes) return false;
      this.#claimedBytes += bytes;
      return true;
    };
    return new Claim({
      take: () => this.#waitFor('claims', { take, isWanted }),
      release: () => {
        this.#claimedBytes -= bytes;
        this.#resumeFitting();
      },
      openLarge: (largeBytes) => this.#openLarge(largeBytes),
    });
  }

  /** Memory for a large message; undefined where one is on its way already, or the process has none. */
  #openLarge(bytes: number): LargeAllowance | undefined {
    if (this.#hasLarge) return undefined;
    const { limit } = this.#memory;
    const share = this.#memory.open(limit, () => {});
    // What was claimed for it would have to be given back, or be lost.
    share.pin();
    const held = Math.min(bytes * largeClaim.heldPerByte, limit * largeClaim.shareOfProcess);
    if (!share.hold(held)) return undefined;
    this.#hasLarge = true;
    const close = () => {
      share.close();
      this.#hasLarge = false;
    };
    return { bytes, close };
  }

  /**
   * Sends a message of so many bytes once the queue has room; one that is large goes alone. False where
   * it is wanted no more.
   */
  async send(bytes: number, isWanted: () => boolean, send: () => void): Promise<boolean> {
    let isSent = false;
    const take = () => {
      const backlog = this.#backlog();
      if (backlog > 0 && backlog + bytes > backlogBytes + claimBytes) return false;
      isSent = isWanted();
      // At once: those who wait behind it look at what waits then.
      if (isSent) send();
      return true;
    };
    await this.#waitFor('sends', { take, isWanted });
    return isSent;
  }

  /** Resolves with whether there is room: without, once it is not wanted any more. */
  async #waitFor(
    what: 'sends' | 'claims',
    { take, isWanted }: Omit<QueuedWork, 'resume'>,
  ): Promise<boolean> {
    const isNext =
      this.#waitingSends.length + (what === 'claims' ? this.#waitingClaims.length : 0) === 0;
    if (isNext && take()) return true;
    let isTaken = false;
    const takeOnce = () => {
      isTaken = take();
      return isTaken;
    };
    await new Promise<void>((resume) => {
      const waiting = what === 'sends' ? this.#waitingSends : this.#waitingClaims;
      waiting.push({ take: takeOnce, isWanted, resume });
      void this.#poll();
    });
    return isTaken;
  }

  /** Looks again and again what the peer has taken, as long as anybody waits. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    for (let ms = POLL_MS.first; this.#waitingSends.length + this.#waitingClaims.length > 0; ) {
      await pause(this.#scheduler, ms);
      this.#waitingSends = stillWanted(this.#waitingSends);
      this.#waitingClaims = stillWanted(this.#waitingClaims);
      ms = this.#resumeFitting() ? POLL_MS.first : Math.min(2 * ms, POLL_MS.most);
    }
    this.#isPolling = false;
  }

  /** Lets go on those for whom there is room, in order; tells whether there was any. */
  #resumeFitting(): boolean {
    const sent = resumeInOrder(this.#waitingSends);
    return (this.#waitingSends.length === 0 && resumeInOrder(this.#waitingClaims)) || sent;
  }
}

/** Those that are still of use; the others go on without room. */
function stillWanted(waiting: readonly QueuedWork[]): QueuedWork[] {
  for (const { isWanted, resume } of waiting) if (!isWanted()) resume();
  return waiting.filter(({ isWanted }) => isWanted());
}

function resumeInOrder(waiting: QueuedWork[]): boolean {
  const before = waiting.length;
  for (let first = waiting[0]; first?.take() === true; first = waiting[0]) {
    waiting.shift();
    first.resume();
  }
  return waiting.length < before;
}

/** Memory that is held for a large message. */
interface LargeAllowance {
  readonly bytes: number;
  readonly close: () => void;
}

interface ClaimAllowance {
  /** Resolves with whether there is room: without, once it is not wanted any more. */
  readonly take: () => Promise<boolean>;
  readonly release: () => void;
  readonly openLarge: (bytes: number) => LargeAllowance | undefined;
}

/** One claim: it has room until its messages are in the queue, but not while it waits for some. */
export class Claim implements PayloadAccount {
  readonly #allowance: ClaimAllowance;
  #hasAllowance = false;
  #large: LargeAllowance | undefined;
  #refusal: BrokerError | undefined;

  constructor(allowance: ClaimAllowance) {
    this.#allowance = allowance;
  }

  /** Waits until there is room, unless it has some. False where it is not wanted any more. */
  async begin(): Promise<boolean> {
    this.#hasAllowance ||= await this.#allowance.take();
    return this.#hasAllowance;
  }

  /** Has memory for large messages before they are claimed. Throws ServiceBusy where there is none now. */
  hold(bytes: number): void {
    if (bytes <= LIMITS.receiveBytes || (this.#large?.bytes ?? 0) >= bytes) return;
    this.sending();
    this.#large = this.#allowance.openLarge(bytes);
    if (this.#large !== undefined) return;
    this.#refusal = new BrokerError('ServiceBusy', 'There is no memory for a large message now.');
    throw this.#refusal;
  }

  /** Whether that was thrown by `hold`: the messages are there still, and can be had later. */
  isRefusal(error: unknown): boolean {
    return error !== undefined && error === this.#refusal;
  }

  /** From now on a large message is counted where it waits to be sent. */
  sending(): void {
    this.#large?.close();
    this.#large = undefined;
  }

  /** Gives the room back. */
  end(): void {
    this.sending();
    if (this.#hasAllowance) this.#allowance.release();
    this.#hasAllowance = false;
  }
}
