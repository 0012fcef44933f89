import assert from 'node:assert/strict';
import type { Answer } from '../../support/api-client.ts';
import type { FaultClient } from '../../support/fault-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { type BatchMessage, fromWire, type Received } from '../../support/test-broker.ts';
import { FaultLedger, type Knowledge, type KnownDelivery, type Spot } from './fault-ledger.ts';
import type { QueueSettings } from './model-message.ts';
import type { QueueClient } from './queue-client.ts';

type Queue = 'main' | 'dead';
type Action = 'complete' | 'abandon' | 'defer' | 'deadLetter';

/** Where a settlement moves a message: from the main queue, and from the dead-letter queue. */
const DESTINATION: Readonly<Record<Exclude<Action, 'abandon'>, readonly [Spot, Spot]>> = {
  complete: ['gone', 'gone'],
  defer: ['deferred', 'deadDeferred'],
  deadLetter: ['dead', 'dead'],
};

/** Runs random operations on a queue whose database fails, and records their outcomes in a ledger. */
export class FaultHistory {
  readonly ledger: FaultLedger;
  readonly log: string[] = [];
  readonly outcomes = { done: 0, refused: 0, unknown: 0 };
  readonly #client: QueueClient;
  readonly #random: LoadRandom;
  readonly #faults: FaultClient;
  readonly #settings: QueueSettings;
  /** Counts each start and each end of a resubmission. */
  #resubmits = 0;
  /** The id of each cancelled message, once per attempt: of two concurrent attempts, one may fail. */
  readonly #cancelled: string[] = [];

  constructor(
    client: QueueClient,
    random: LoadRandom,
    faults: FaultClient,
    settings: QueueSettings,
  ) {
    this.#client = client;
    this.#random = random;
    this.#faults = faults;
    this.#settings = settings;
    this.ledger = new FaultLedger({ canExhaust: settings.maxDeliveryCount < 10 });
  }

  get #now(): number {
    return this.#client.broker.clock.now();
  }

  /** Runs one operation, or up to three at once. */
  async step(): Promise<void> {
    const random = this.#random;
    const choice = random.next();
    if (choice < 0.12) return this.#passTime();
    if (choice < 0.15) return await this.#purge();
    if (choice < 0.17) return await this.#update();
    const tasks = Array.from({ length: random.between(1, 3) }, () => this.#task());
    await Promise.all(tasks);
  }

  #task(): Promise<void> {
    const choice = this.#random.next();
    const place: Queue = this.#random.chance(0.75) ? 'main' : 'dead';
    if (choice < 0.25) return this.#send();
    if (choice < 0.5) return this.#lock(place);
    if (choice < 0.54) return this.#removeOne(place);
    if (choice < 0.84) return this.#settle();
    if (choice < 0.91) return this.#receiveDeferred();
    if (choice < 0.95) return this.#cancel();
    return this.#resubmit();
  }

  #passTime(): void {
    const { lockMs } = this.#settings;
    const ms = this.#random.pick([1, 1000, lockMs - 1, lockMs, lockMs + 1]);
    this.#client.broker.clock.advance({ ms });
    this.ledger.activated(this.#now);
    this.log.push(`+${ms} ms`);
  }

  async #send(): Promise<void> {
    const random = this.#random;
    const isScheduled = random.chance(0.3);
    const messages = Array.from({ length: random.pick([1, 1, 2, 5]) }, () =>
      this.ledger.sending(
        isScheduled ? this.#now + random.pick([1, 1000, this.#settings.lockMs]) : undefined,
        random.chance(0.15),
        random.pick([0, 60, 1500]),
      ),
    );
    const batch = messages.map(
      ({ id, body, dueAt, hasTtl }): BatchMessage => ({
        Body: body,
        BrokerProperties: {
          MessageId: id,
          ...(hasTtl ? { TimeToLive: 5 } : {}),
          ...(dueAt === undefined
            ? {}
            : { ScheduledEnqueueTimeUtc: new Date(dueAt).toISOString() }),
        },
      }),
    );
    const before = this.#faults.lostAnswers;
    const { answer, knowledge } = await this.#request(`send ${messages.map(({ id }) => id)}`, () =>
      isScheduled
        ? this.#client.broker.request('POST', `${this.#client.name}/messages/$schedule`, {
            body: JSON.stringify(batch),
          })
        : this.#client.broker.sendBatch(this.#client.name, batch),
    );
    const wasRepeated = this.#faults.lostAnswers > before;
    for (const message of messages) this.ledger.sent(message, knowledge, wasRepeated);
    if (!isScheduled || knowledge !== 'done') return;
    const { sequenceNumbers } = answer.json<{ sequenceNumbers: number[] }>();
    for (const [i, message] of messages.entries()) message.sequence ??= sequenceNumbers[i];
  }

  async #lock(place: Queue): Promise<void> {
    const max = this.#random.pick([1, 2, 10]);
    const { answer, knowledge } = await this.#request(`lock ${max} of ${place}`, () =>
      this.#client.broker.request(
        'POST',
        `${this.#client.path(place)}/messages/head?timeout=0&maxMessages=${max}`,
      ),
    );
    if (knowledge === 'done') this.#record(answer, place === 'main' ? 'active' : 'dead');
  }

  #record(answer: Answer, spot: Spot): void {
    const until = this.#now + this.#settings.lockMs;
    const received = messagesOf(answer);
    for (const one of received) this.ledger.locked(one, spot, until, this.#now);
    this.log.push(`  got ${received.map(({ broker }) => broker.MessageId).join(' ')}`);
  }

  /** Receives and deletes: a message is lost if its answer is lost. */
  async #removeOne(place: Queue): Promise<void> {
    const spot = place === 'main' ? 'active' : 'dead';
    const before = this.#faults.lostAnswers;
    const { answer, knowledge } = await this.#request(`remove 1 of ${place}`, () =>
      this.#client.broker.request(
        'DELETE',
        `${this.#client.path(place)}/messages/head?timeout=0&maxMessages=1`,
      ),
    );
    const received = knowledge === 'done' ? messagesOf(answer) : [];
    for (const one of received) this.ledger.removed(one, spot, this.#now);
    this.log.push(`  got ${received.map(({ broker }) => broker.MessageId).join(' ')}`);
    if (this.#faults.lostAnswers > before) this.ledger.mayHaveMoved(spot, 'gone');
  }

  async #settle(): Promise<void> {
    const { deliveries } = this.ledger;
    const delivery = deliveries[deliveries.length - 1 - this.#random.below(5)];
    if (delivery === undefined) return;
    const action = this.#random.pick<Action>([
      'complete',
      'complete',
      'abandon',
      'defer',
      ...(delivery.place === 'main' ? (['deadLetter'] as const) : []),
    ]);
    const isCertain = delivery.message.lock === delivery && delivery.until > this.#now;
    const isOver = delivery.until <= this.#now;
    // From here on another receiver may get it.
    if (delivery.message.lock === delivery) delivery.message.lock = undefined;
    const attempts = ++delivery.attempts;
    const resubmits = this.#resubmits;
    const properties = this.#random.chance(0.3) && action !== 'complete' ? { mark: 1 } : undefined;
    const request = { lockToken: delivery.token, outcome: action, properties };
    const before = this.#faults.lostAnswers;
    const { answer, knowledge } = await this.#request(`${action} ${delivery.message.id}`, () =>
      this.#client.call(delivery.place, 'settle', { settlements: [request] }),
    );
    const outcome = knowledge === 'done' ? this.#outcomeOf(answer) : knowledge;
    const wasLost = this.#faults.lostAnswers > before;
    const isLate = isOver && outcome === 'done' && !wasLost;
    assert.ok(!isLate, `${action} of ${delivery.message.id} under a lock that had run out`);
    const isAlone = delivery.attempts === attempts;
    const isWrong = isCertain && isAlone && outcome === 'refused' && !wasLost;
    assert.ok(!isWrong, `${action} of ${delivery.message.id} was refused under a live lock`);
    // A refusal after a lost answer may mean that the first attempt succeeded, or that the lock was lost.
    const isInDoubt = wasLost && (outcome === 'refused' || !isCertain);
    this.#recordMove(delivery, action, isInDoubt ? 'unknown' : outcome);
    // A concurrent resubmission may have sent the dead-lettered message again before this answer came.
    if (this.#resubmits > resubmits) this.ledger.mayHaveMoved('dead', 'active');
  }

  #recordMove(delivery: KnownDelivery, action: Action, knowledge: Knowledge): void {
    if (action === 'abandon') return;
    const [fromMain, fromDead] = DESTINATION[action];
    const destination = delivery.place === 'main' ? fromMain : fromDead;
    this.ledger.moved(delivery.message, destination, knowledge);
  }

  #outcomeOf(answer: Answer): Knowledge {
    const { settlements } = answer.json<{
      settlements: { settled: boolean; error?: { code: string } }[];
    }>();
    const code = settlements[0]?.error?.code;
    if (code === 'ServiceBusy' || code === 'ServiceTimeout') return 'unknown';
    assert.ok(code === undefined || code === 'MessageLockLost', `unexpected error ${code}`);
    return code === undefined ? 'done' : 'refused';
  }

  async #receiveDeferred(): Promise<void> {
    const deferred = this.ledger.messages.filter(
      ({ spots, sequence }) =>
        sequence !== undefined && (spots.has('deferred') || spots.has('deadDeferred')),
    );
    const message = deferred[this.#random.below(deferred.length)];
    if (message === undefined) return;
    const place: Queue = message.spots.has('deferred') ? 'main' : 'dead';
    const { answer, knowledge } = await this.#request(`receive deferred ${message.id}`, () =>
      this.#client.call(place, 'deferred', { sequenceNumbers: [message.sequence] }),
    );
    if (knowledge === 'done') this.#record(answer, place === 'main' ? 'deferred' : 'deadDeferred');
  }

  async #cancel(): Promise<void> {
    const scheduled = this.ledger.messages.filter(
      ({ spots, sequence }) => sequence !== undefined && spots.has('scheduled'),
    );
    const message = scheduled[this.#random.below(scheduled.length)];
    if (message === undefined) return;
    const isCertain = message.spots.size === 1;
    // From here on another operation may find it gone.
    message.spots.add('gone');
    this.#cancelled.push(message.id);
    const before = this.#faults.lostAnswers;
    const { knowledge } = await this.#request(`cancel ${message.id}`, () =>
      this.#client.call('main', 'cancelScheduled', { sequenceNumbers: [message.sequence] }),
    );
    const wasLost = this.#faults.lostAnswers > before;
    const isAlone = this.#cancelled.filter((id) => id === message.id).length === 1;
    const isWrong = isCertain && isAlone && knowledge === 'refused' && !wasLost;
    assert.ok(!isWrong, `${message.id} could not be cancelled`);
    this.ledger.moved(message, 'gone', knowledge === 'refused' && wasLost ? 'unknown' : knowledge);
  }

  async #resubmit(): Promise<void> {
    // The answer does not say which messages are resubmitted.
    this.ledger.mayHaveMoved('dead', 'active');
    this.#resubmits += 1;
    await this.#request('resubmit', () =>
      this.#client.call('dead', 'resubmit', { maxMessages: 5 }),
    );
    this.#resubmits += 1;
    this.ledger.mayHaveMoved('dead', 'active');
  }

  async #purge(): Promise<void> {
    const { knowledge } = await this.#request('purge', () => this.#client.call('main', 'purge'));
    this.ledger.purged(knowledge);
  }

  async #update(): Promise<void> {
    // An update ends all locks, even if its answer is lost.
    this.ledger.forgetLocks();
    await this.#request('update', () => this.#client.put(this.#settings));
  }

  /** Sends a request; returns what is known of its effect. Fails on errors that no fault explains. */
  async #request(what: string, request: () => Promise<Answer>) {
    const place = this.log.push(`${what} …`) - 1;
    const before = this.#faults.lostAnswers;
    const answer = await request();
    const { status } = answer;
    this.log[place] = `${what}: ${status}`;
    const isConflict = status === 409 && this.#faults.lostAnswers > before;
    const isUnknown = status === 503 || status === 504 || isConflict;
    const isDone = status >= 200 && status < 300;
    assert.ok(isDone || isUnknown || status === 404, `${what}: ${status} ${answer.text}`);
    const knowledge: Knowledge = isDone ? 'done' : isUnknown ? 'unknown' : 'refused';
    this.outcomes[knowledge]++;
    return { answer, knowledge };
  }
}

function messagesOf(answer: Answer): readonly Received[] {
  if (answer.status === 204) return [];
  return answer.json<Parameters<typeof fromWire>[0][]>().map(fromWire);
}
