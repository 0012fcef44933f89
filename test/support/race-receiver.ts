import type { LoadRandom } from './load-random.ts';
import type { Delivery, RaceAction, RaceLog, RaceOutcome, Span } from './race-log.ts';
import {
  expectStatus,
  fromWire,
  type OutcomeAnswer,
  type Received,
  type SettlementRequest,
  type TestBroker,
} from './test-broker.ts';

type WireMessage = Parameters<typeof fromWire>[0];

interface Renewal {
  readonly lockToken: string;
  readonly lockedUntilUtc?: string;
  readonly error?: { readonly code: string };
}

interface Chosen {
  readonly delivery: Delivery;
  readonly action: 'complete' | 'abandon';
}

interface RaceReceiverOptions {
  readonly broker: TestBroker;
  readonly queue: string;
  readonly log: RaceLog;
  readonly random: LoadRandom;
}

const SIZES = [1, 1, 2, 5, 10, 34, 100] as const;
/** The number of deliveries with a used lock that are kept for another attempt. */
const SPENT_MAX = 20;

/**
 * A receiver with random actions: it completes, abandons, renews, keeps or ignores its messages, one at a time
 * or several together, and tries used locks again.
 */
export class RaceReceiver {
  readonly #broker: TestBroker;
  readonly #queue: string;
  readonly #log: RaceLog;
  readonly #random: LoadRandom;
  #held: Delivery[] = [];
  #spent: Delivery[] = [];

  constructor({ broker, queue, log, random }: RaceReceiverOptions) {
    this.#broker = broker;
    this.#queue = queue;
    this.#log = log;
    this.#random = random;
  }

  /** Settles some held messages, and receives. Resolves with whether it received any message. */
  async turn(): Promise<boolean> {
    await this.#renewSome();
    const chosen = this.#choose();
    const maxMessages = this.#random.pick(SIZES);
    if (this.#random.chance(0.06)) {
      await this.#settle(chosen);
      return await this.#remove(maxMessages);
    }
    if (chosen.length > 0 && this.#random.chance(0.4)) {
      return await this.#settleAndReceive(chosen, maxMessages);
    }
    await this.#settle(chosen);
    return await this.#lock(maxMessages);
  }

  /** Chooses the held messages to settle; of the others, some are kept and some are ignored. */
  #choose(): readonly Chosen[] {
    const chosen: Chosen[] = [];
    const kept: Delivery[] = [];
    for (const delivery of this.#held) {
      const drawn = this.#random.next();
      if (drawn < 0.62) chosen.push({ delivery, action: 'complete' });
      else if (drawn < 0.76) chosen.push({ delivery, action: 'abandon' });
      else if (drawn < 0.9) kept.push(delivery);
      else this.#spend(delivery);
    }
    this.#held = kept;
    const again = this.#spent[this.#random.below(4 * SPENT_MAX)];
    if (again !== undefined) chosen.push({ delivery: again, action: 'complete' });
    return chosen;
  }

  #spend(delivery: Delivery): void {
    this.#spent.push(delivery);
    if (this.#spent.length > SPENT_MAX) this.#spent.shift();
  }

  #enter(entry: {
    readonly delivery: Delivery;
    readonly action: RaceAction;
    readonly outcome: RaceOutcome;
    readonly span: Span;
    readonly until?: number;
  }): void {
    const { delivery, action } = entry;
    this.#log.acted(delivery, action, entry);
    if (action !== 'renew') this.#spend(delivery);
  }

  async #renewSome(): Promise<void> {
    const some = this.#held.filter(() => this.#random.chance(0.15));
    const [only] = some;
    if (only === undefined) return;
    if (some.length === 1 && only.received.location !== undefined) return this.#renewOne(only);
    const { answer, span } = await this.#log.during(() =>
      this.#call(`${this.#queue}/messages/$renew`, { lockTokens: some.map(tokenOf) }),
    );
    expectStatus(answer, 200);
    const { renewals } = answer.json<{ renewals: readonly Renewal[] }>();
    for (const [i, delivery] of some.entries()) {
      const { lockedUntilUtc, error } = renewals[i] ?? missing('renewal');
      const until = lockedUntilUtc === undefined ? {} : { until: Date.parse(lockedUntilUtc) };
      const outcome = outcomeOf(error?.code);
      this.#enter({ delivery, action: 'renew', outcome, span, ...until });
    }
  }

  async #renewOne(delivery: Delivery): Promise<void> {
    const { answer, span } = await this.#log.during(() => this.#broker.renew(delivery.received));
    const outcome = outcomeOfStatus(answer.status);
    const header = answer.headers.get('brokerproperties') ?? '{}';
    const { LockedUntilUtc } = JSON.parse(header) as { LockedUntilUtc?: string };
    const until = LockedUntilUtc === undefined ? {} : { until: Date.parse(LockedUntilUtc) };
    this.#enter({ delivery, action: 'renew', outcome, span, ...until });
  }

  /** Settles one or two messages with a lock URI one at a time, all others in one call. */
  async #settle(chosen: readonly Chosen[]): Promise<void> {
    if (chosen.length === 0) return;
    const alone =
      chosen.length <= 2 ? chosen.filter(({ delivery }) => delivery.received.location) : [];
    for (const one of alone) await this.#settleOne(one);
    const together = chosen.filter((one) => !alone.includes(one));
    if (together.length === 0) return;
    const { answer, span } = await this.#log.during(() =>
      this.#broker.settle(this.#queue, together.map(settlementOf)),
    );
    this.#enterOutcomes(together, answer, span);
  }

  async #settleOne({ delivery, action }: Chosen): Promise<void> {
    const { received } = delivery;
    const { answer, span } = await this.#log.during(() =>
      action === 'complete' ? this.#broker.complete(received) : this.#broker.abandon(received),
    );
    this.#enter({ delivery, action, outcome: outcomeOfStatus(answer), span });
  }

  #enterOutcomes(chosen: readonly Chosen[], answers: readonly OutcomeAnswer[], span: Span): void {
    for (const [i, { delivery, action }] of chosen.entries()) {
      const { settled, error } = answers[i] ?? missing('outcome');
      if (settled !== (error === undefined)) missing('consistent outcome');
      this.#enter({ delivery, action, outcome: outcomeOf(error?.code), span });
    }
  }

  async #settleAndReceive(chosen: readonly Chosen[], maxMessages: number): Promise<boolean> {
    const { answer, span } = await this.#log.during(() =>
      this.#call(`${this.#queue}/messages/head?timeout=0&maxMessages=${maxMessages}`, {
        settlements: chosen.map(settlementOf),
      }),
    );
    expectStatus(answer, 200);
    const { settlements, messages, error } = answer.json<{
      settlements: readonly OutcomeAnswer[];
      messages: readonly WireMessage[];
      error?: { readonly code: string };
    }>();
    // ServiceBusy: other receivers were faster in every attempt, and the receive got no message.
    if (error !== undefined && error.code !== 'ServiceBusy')
      throw new Error(`The receive failed: ${answer.text}`);
    this.#enterOutcomes(chosen, settlements, span);
    return this.#take(span, messages.map(fromWire));
  }

  async #lock(maxMessages: number): Promise<boolean> {
    const lock = async () => {
      if (maxMessages > 1) return await this.#broker.peekLockMany(this.#queue, maxMessages);
      const one = await this.#broker.peekLock(this.#queue);
      return one === undefined ? [] : [one];
    };
    const { answer, span } = await this.#log.during(() => orNothing(lock));
    return this.#take(span, answer);
  }

  #take(span: Span, received: readonly Received[]): boolean {
    this.#held.push(...this.#log.locked(span, received));
    return received.length > 0;
  }

  async #remove(maxMessages: number): Promise<boolean> {
    const remove = async () => {
      if (maxMessages > 1) return await this.#broker.receiveAndDeleteMany(this.#queue, maxMessages);
      const one = await this.#broker.receiveAndDelete(this.#queue);
      return one === undefined ? [] : [one];
    };
    const { answer, span } = await this.#log.during(() => orNothing(remove));
    this.#log.removed(span, answer);
    return answer.length > 0;
  }

  #call(path: string, body: object) {
    return this.#broker.request('POST', path, {
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    });
  }
}

/** Returns no messages after a 503: other receivers were faster in every attempt. */
async function orNothing(
  receive: () => Promise<readonly Received[]>,
): Promise<readonly Received[]> {
  try {
    return await receive();
  } catch (error) {
    if (error instanceof Error && error.message.includes('got 503')) return [];
    throw error;
  }
}

const tokenOf = ({ received }: Delivery): string => received.broker.LockToken;

const settlementOf = ({ delivery, action }: Chosen): SettlementRequest => ({
  lockToken: tokenOf(delivery),
  outcome: action,
});

function outcomeOf(code: string | undefined): RaceOutcome {
  if (code === undefined) return 'done';
  if (code === 'MessageLockLost') return 'lost';
  if (code === 'ServiceBusy') return 'busy';
  throw new Error(`Unexpected error ${code} in a race.`);
}

function outcomeOfStatus(status: number): RaceOutcome {
  if (status === 200) return 'done';
  if (status === 404) return 'lost';
  if (status === 503) return 'busy';
  throw new Error(`Unexpected status ${status} in a race.`);
}

function missing(what: string): never {
  throw new Error(`The answer has no ${what}.`);
}
