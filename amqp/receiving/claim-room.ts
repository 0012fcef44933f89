import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { PayloadAccount } from '../../shared/domain/messages/payload-account.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';

const { backlogBytes, claimBytes, claimedMessageBytes, largeClaim } = BUDGETS.connection;
/** How long until it is looked again what the peer has taken. */
const LOOK_MS = { first: 20, most: 1000 };

/** Who waits for room. */
interface Waiting {
  /** Takes the room, where there is enough. */
  readonly take: () => boolean;
  /** Whether it is still of use. */
  readonly isWanted: () => boolean;
  readonly goOn: () => void;
}

/**
 * How many messages the links of one connection claim together: no more than its peer takes soon, so
 * that they wait in the queue, where they are counted, and not here. A connection whose peer reads is
 * never ended for what is sent to it.
 */
export class ClaimRoom {
  readonly #scheduler: Scheduler;
  readonly #backlog: () => number;
  /** Messages that were claimed go before further claims. */
  #sends: Waiting[] = [];
  #claims: Waiting[] = [];
  /** Bytes that the claims under way may bring. */
  #claimed = 0;
  /** Whether a claim under way brings a large message: one does at a time. */
  #hasLarge = false;
  readonly #memory: MemoryBudget;
  #isLooking = false;

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
      if (this.#backlog() > backlogBytes || this.#claimed + bytes > claimBytes) return false;
      this.#claimed += bytes;
      return true;
    };
    return new Claim({
      take: () => this.#until('claims', { take, isWanted }),
      giveBack: () => {
        this.#claimed -= bytes;
        this.#serve();
      },
      openLarge: (largeBytes) => this.#openLarge(largeBytes),
    });
  }

  /** Memory for a large message; undefined where one is on its way already, or the process has none. */
  #openLarge(bytes: number): Large | undefined {
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
    await this.#until('sends', { take, isWanted });
    return isSent;
  }

  /** Resolves with whether there is room: without, once it is not wanted any more. */
  async #until(
    what: 'sends' | 'claims',
    { take, isWanted }: Omit<Waiting, 'goOn'>,
  ): Promise<boolean> {
    const isFirst = this.#sends.length + (what === 'claims' ? this.#claims.length : 0) === 0;
    if (isFirst && take()) return true;
    let isTaken = false;
    const taking = () => {
      isTaken = take();
      return isTaken;
    };
    await new Promise<void>((goOn) => {
      const waiting = what === 'sends' ? this.#sends : this.#claims;
      waiting.push({ take: taking, isWanted, goOn });
      void this.#look();
    });
    return isTaken;
  }

  /** Looks again and again what the peer has taken, as long as anybody waits. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    for (let ms = LOOK_MS.first; this.#sends.length + this.#claims.length > 0; ) {
      await pause(this.#scheduler, ms);
      this.#sends = stillWanted(this.#sends);
      this.#claims = stillWanted(this.#claims);
      ms = this.#serve() ? LOOK_MS.first : Math.min(2 * ms, LOOK_MS.most);
    }
    this.#isLooking = false;
  }

  /** Lets go on those for whom there is room, in order; tells whether there was any. */
  #serve(): boolean {
    const sent = serve(this.#sends);
    return (this.#sends.length === 0 && serve(this.#claims)) || sent;
  }
}

/** Those that are still of use; the others go on without room. */
function stillWanted(waiting: readonly Waiting[]): Waiting[] {
  for (const { isWanted, goOn } of waiting) if (!isWanted()) goOn();
  return waiting.filter(({ isWanted }) => isWanted());
}

function serve(waiting: Waiting[]): boolean {
  const before = waiting.length;
  for (let first = waiting[0]; first?.take() === true; first = waiting[0]) {
    waiting.shift();
    first.goOn();
  }
  return waiting.length < before;
}

/** Memory that is held for a large message. */
interface Large {
  readonly bytes: number;
  readonly close: () => void;
}

interface Room {
  /** Resolves with whether there is room: without, once it is not wanted any more. */
  readonly take: () => Promise<boolean>;
  readonly giveBack: () => void;
  readonly openLarge: (bytes: number) => Large | undefined;
}

/** One claim: it has room until its messages are in the queue, but not while it waits for some. */
export class Claim implements PayloadAccount {
  readonly #room: Room;
  #hasRoom = false;
  #large: Large | undefined;
  #refusal: BrokerError | undefined;

  constructor(room: Room) {
    this.#room = room;
  }

  /** Waits until there is room, unless it has some. False where it is not wanted any more. */
  async begin(): Promise<boolean> {
    this.#hasRoom ||= await this.#room.take();
    return this.#hasRoom;
  }

  /** Has memory for large messages before they are claimed. Throws ServiceBusy where there is none now. */
  hold(bytes: number): void {
    if (bytes <= LIMITS.receiveBytes || (this.#large?.bytes ?? 0) >= bytes) return;
    this.sending();
    this.#large = this.#room.openLarge(bytes);
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
    if (this.#hasRoom) this.#room.giveBack();
    this.#hasRoom = false;
  }
}
