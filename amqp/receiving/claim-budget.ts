import { serviceBusy } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { PayloadAccount } from '../../shared/domain/messages/payload-account.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';

const { backlogBytes, claimBytes, claimedMessageBytes, largeClaim } = BUDGETS.connection;
/** The pause between two checks of what the peer has taken: it doubles from `first` to `most`. */
const POLL_MS = { first: 20, most: 1000 };

/** A claim or send that waits for its allowance. */
interface QueuedWork {
  /** Takes the allowance if the budget has it. */
  readonly take: () => boolean;
  /** Whether it is still needed. */
  readonly isWanted: () => boolean;
  readonly resume: () => void;
}

/**
 * Lets the links of one connection together claim only what its peer will take soon, so that messages wait
 * unlocked in their queue and not, locked, in this process. With it, output never exceeds the memory limit of a
 * connection whose peer reads.
 */
export class ClaimBudget {
  readonly #scheduler: Scheduler;
  readonly #backlog: () => number;
  /** Claimed messages to be sent. They take precedence over further claims. */
  #waitingSends: QueuedWork[] = [];
  #waitingClaims: QueuedWork[] = [];
  /** Bytes that the claims under way may return. */
  #claimedBytes = 0;
  /** Whether a claim under way has memory for a large message. Only one has at a time. */
  #hasLarge = false;
  readonly #memory: MemoryBudget;
  #isPolling = false;

  /** `backlog` = bytes that the peer has not taken yet. */
  constructor(scheduler: Scheduler, memory: MemoryBudget, backlog: () => number) {
    this.#scheduler = scheduler;
    this.#memory = memory;
    this.#backlog = backlog;
  }

  /** Creates a claim of at most `messages` messages, without an allowance yet. */
  claim(messages: number, isWanted: () => boolean): ClaimAllowance {
    const bytes = Math.min(messages * claimedMessageBytes, LIMITS.receiveBytes);
    const take = () => {
      if (this.#backlog() > backlogBytes || this.#claimedBytes + bytes > claimBytes) return false;
      this.#claimedBytes += bytes;
      return true;
    };
    return new ClaimAllowance({
      take: () => this.#waitFor('claims', { take, isWanted }),
      release: () => {
        this.#claimedBytes -= bytes;
        this.#resumeFitting();
      },
      openLarge: (largeBytes) => this.#openLarge(largeBytes),
    });
  }

  /** Holds memory for a large message; undefined if another one has it, or the process has none. */
  #openLarge(bytes: number): LargeAllowance | undefined {
    if (this.#hasLarge) return undefined;
    const { limit } = this.#memory;
    const share = this.#memory.open(limit, () => {});
    // Not evictable: the claimed message would have to be returned, or would be lost.
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
   * Calls `send` for a message of `bytes` as soon as the peer has taken enough; a large one is sent alone.
   * Returns false if it is not wanted any more.
   */
  async send(bytes: number, isWanted: () => boolean, send: () => void): Promise<boolean> {
    let isSent = false;
    const take = () => {
      const backlog = this.#backlog();
      if (backlog > 0 && backlog + bytes > backlogBytes + claimBytes) return false;
      isSent = isWanted();
      // Sent here, because the next one in the queue checks the backlog with this message in it.
      if (isSent) send();
      return true;
    };
    await this.#waitFor('sends', { take, isWanted });
    return isSent;
  }

  /** Waits for an allowance, in order. Returns false if it is not wanted any more. */
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

  /** Polls what the peer has taken, as long as a claim or send waits. */
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

  /** Resumes what now fits, in order. Returns whether anything did. */
  #resumeFitting(): boolean {
    const sent = resumeInOrder(this.#waitingSends);
    return (this.#waitingSends.length === 0 && resumeInOrder(this.#waitingClaims)) || sent;
  }
}

/** Resumes what is not needed any more, without an allowance, and returns the rest. */
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

/** Memory held for a large message. */
interface LargeAllowance {
  readonly bytes: number;
  readonly close: () => void;
}

interface AllowanceSource {
  /** Waits for the allowance. Returns false if it is not wanted any more. */
  readonly take: () => Promise<boolean>;
  readonly release: () => void;
  readonly openLarge: (bytes: number) => LargeAllowance | undefined;
}

/**
 * One claim. It has an allowance while it claims messages and sends them, but not while it waits for messages
 * to arrive.
 */
export class ClaimAllowance implements PayloadAccount {
  readonly #source: AllowanceSource;
  #hasAllowance = false;
  #large: LargeAllowance | undefined;

  constructor(source: AllowanceSource) {
    this.#source = source;
  }

  /** Waits for an allowance unless it has one. Returns false if the claim is not wanted any more. */
  async begin(): Promise<boolean> {
    this.#hasAllowance ||= await this.#source.take();
    return this.#hasAllowance;
  }

  /** Holds memory for a large message before it is claimed. Throws ServiceBusy if there is none now. */
  hold(bytes: number): void {
    if (bytes <= LIMITS.receiveBytes || (this.#large?.bytes ?? 0) >= bytes) return;
    this.releaseLarge();
    this.#large = this.#source.openLarge(bytes);
    if (this.#large === undefined) throw serviceBusy('There is no memory for a large message now.');
  }

  /** Gives memory for a large message back: from now on the message counts as output. */
  releaseLarge(): void {
    this.#large?.close();
    this.#large = undefined;
  }

  /** Gives the allowance back. */
  end(): void {
    this.releaseLarge();
    if (this.#hasAllowance) this.#source.release();
    this.#hasAllowance = false;
  }
}
