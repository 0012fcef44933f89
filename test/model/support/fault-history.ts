import assert from 'node:assert/strict';
import type { Answer } from '../../support/api-client.ts';
import type { FaultClient } from '../../support/fault-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { type BatchMessage, fromWire, type Received } from '../../support/test-broker.ts';
import { FaultBook, type Knowledge, type KnownDelivery, type Spot } from './fault-book.ts';
import type { QueueSettings } from './model-message.ts';
import type { QueueClient } from './queue-client.ts';

type Queue = 'main' | 'dead';
type Action = 'complete' | 'abandon' | 'defer' | 'deadLetter';

/** Where a settlement brings a message, by what was done and where it was. */
const DESTINATION: Readonly<Record<Exclude<Action, 'abandon'>, readonly [Spot, Spot]>> = {
  complete: ['gone', 'gone'],
  defer: ['deferred', 'deadDeferred'],
  deadLetter: ['dead', 'dead'],
};

/** One user of a queue whose database fails: does things, and keeps book of what came of them. */
export class FaultHistory {
  readonly book: FaultBook;
  readonly log: string[] = [];
  readonly outcomes = { done: 0, refused: 0, unknown: 0 };
  readonly #client: QueueClient;
  readonly #random: LoadRandom;
  readonly #faults: FaultClient;
  readonly #settings: QueueSettings;
  /** How many resubmissions began, and ended. */
  #resubmits = 0;
  /** Who was cancelled, as often as it was tried: two at once need not both find it. */
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
    this.book = new FaultBook({ dies: settings.maxDeliveryCount < 10 });
  }

  get #now(): number {
    return this.#client.broker.clock.now();
  }

  /** Does one thing alone, or a few at once. */
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
    this.book.moved(this.#now);
    this.log.push(`+${ms} ms`);
  }

  async #send(): Promise<void> {
    const random = this.#random;
    const isScheduled = random.chance(0.3);
    const messages = Array.from({ length: random.pick([1, 1, 2, 5]) }, () =>
      this.book.sending(
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
    const { answer, knowledge } = await this.#ask(`send ${messages.map(({ id }) => id)}`, () =>
      isScheduled
        ? this.#client.broker.request('POST', `${this.#client.name}/messages/$schedule`, {
            body: JSON.stringify(batch),
          })
        : this.#client.broker.sendBatch(this.#client.name, batch),
    );
    const wasRepeated = this.#faults.lostAnswers > before;
    for (const message of messages) this.book.sent(message, knowledge, wasRepeated);
    if (!isScheduled || knowledge !== 'done') return;
    const { sequenceNumbers } = answer.json<{ sequenceNumbers: number[] }>();
    for (const [i, message] of messages.entries()) message.sequence ??= sequenceNumbers[i];
  }

  async #lock(place: Queue): Promise<void> {
    const max = this.#random.pick([1, 2, 10]);
    const { answer, knowledge } = await this.#ask(`lock ${max} of ${place}`, () =>
      this.#client.broker.request(
        'POST',
        `${this.#client.path(place)}/messages/head?timeout=0&maxMessages=${max}`,
      ),
    );
    if (knowledge === 'done') this.#enter(answer, place === 'main' ? 'active' : 'dead');
  }

  #enter(answer: Answer, spot: Spot): void {
    const until = this.#now + this.#settings.lockMs;
    const received = messagesOf(answer);
    for (const one of received) this.book.locked(one, spot, until, this.#now);
    this.log.push(`  got ${received.map(({ broker }) => broker.MessageId).join(' ')}`);
  }

  /** Whoever receives and deletes takes the risk that an answer is lost. */
  async #removeOne(place: Queue): Promise<void> {
    const spot = place === 'main' ? 'active' : 'dead';
    const before = this.#faults.lostAnswers;
    const { answer, knowledge } = await this.#ask(`remove 1 of ${place}`, () =>
      this.#client.broker.request(
        'DELETE',
        `${this.#client.path(place)}/messages/head?timeout=0&maxMessages=1`,
      ),
    );
    const received = knowledge === 'done' ? messagesOf(answer) : [];
    for (const one of received) this.book.removed(one, spot, this.#now);
    this.log.push(`  got ${received.map(({ broker }) => broker.MessageId).join(' ')}`);
    if (this.#faults.lostAnswers > before) this.book.mayHaveGone(spot, 'gone');
  }

  async #settle(): Promise<void> {
    const { deliveries } = this.book;
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
    // From here on somebody else may get it.
    if (delivery.message.lock === delivery) delivery.message.lock = undefined;
    const attempts = ++delivery.attempts;
    const resubmits = this.#resubmits;
    const properties = this.#random.chance(0.3) && action !== 'complete' ? { mark: 1 } : undefined;
    const request = { lockToken: delivery.token, outcome: action, properties };
    const before = this.#faults.lostAnswers;
    const { answer, knowledge } = await this.#ask(`${action} ${delivery.message.id}`, () =>
      this.#client.call(delivery.place, 'settle', { settlements: [request] }),
    );
    const outcome = knowledge === 'done' ? this.#outcomeOf(answer) : knowledge;
    const wasLost = this.#faults.lostAnswers > before;
    const isLate = isOver && outcome === 'done' && !wasLost;
    assert.ok(!isLate, `${action} of ${delivery.message.id} under a lock that had run out`);
    const isAlone = delivery.attempts === attempts;
    const isWronged = isCertain && isAlone && outcome === 'refused' && !wasLost;
    assert.ok(!isWronged, `${action} of ${delivery.message.id} was refused under a live lock`);
    // Whose answer was lost cannot be told from whose lock was used up or lost before.
    const isInDoubt = wasLost && (outcome === 'refused' || !isCertain);
    this.#bring(delivery, action, isInDoubt ? 'unknown' : outcome);
    // What it dead-lettered may have been sent again before its answer came.
    if (this.#resubmits > resubmits) this.book.mayHaveGone('dead', 'active');
  }

  #bring(delivery: KnownDelivery, action: Action, knowledge: Knowledge): void {
    if (action === 'abandon') return;
    const [fromMain, fromDead] = DESTINATION[action];
    const destination = delivery.place === 'main' ? fromMain : fromDead;
    this.book.brought(delivery.message, destination, knowledge);
  }

  #outcomeOf(answer: Answer): Knowledge {
    const { settlements } = answer.json<{
      settlements: { settled: boolean; error?: { code: string } }[];
    }>();
    const code = settlements[0]?.error?.code;
    if (code === 'ServiceBusy' || code === 'ServiceTimeout') return 'unknown';
    assert.ok(code === undefined || code === 'MessageLockLost', `nobody expects ${code}`);
    return code === undefined ? 'done' : 'refused';
  }

  async #receiveDeferred(): Promise<void> {
    const deferred = this.book.messages.filter(
      ({ spots, sequence }) =>
        sequence !== undefined && (spots.has('deferred') || spots.has('deadDeferred')),
    );
    const message = deferred[this.#random.below(deferred.length)];
    if (message === undefined) return;
    const place: Queue = message.spots.has('deferred') ? 'main' : 'dead';
    const { answer, knowledge } = await this.#ask(`receive deferred ${message.id}`, () =>
      this.#client.call(place, 'deferred', { sequenceNumbers: [message.sequence] }),
    );
    if (knowledge === 'done') this.#enter(answer, place === 'main' ? 'deferred' : 'deadDeferred');
  }

  async #cancel(): Promise<void> {
    const scheduled = this.book.messages.filter(
      ({ spots, sequence }) => sequence !== undefined && spots.has('scheduled'),
    );
    const message = scheduled[this.#random.below(scheduled.length)];
    if (message === undefined) return;
    const isCertain = message.spots.size === 1;
    // From here on somebody else may find it gone.
    message.spots.add('gone');
    this.#cancelled.push(message.id);
    const before = this.#faults.lostAnswers;
    const { knowledge } = await this.#ask(`cancel ${message.id}`, () =>
      this.#client.call('main', 'cancelScheduled', { sequenceNumbers: [message.sequence] }),
    );
    const wasLost = this.#faults.lostAnswers > before;
    const isAlone = this.#cancelled.filter((id) => id === message.id).length === 1;
    const isWronged = isCertain && isAlone && knowledge === 'refused' && !wasLost;
    assert.ok(!isWronged, `${message.id} could not be cancelled`);
    this.book.brought(message, 'gone', knowledge === 'refused' && wasLost ? 'unknown' : knowledge);
  }

  async #resubmit(): Promise<void> {
    // Which ones go is not told.
    this.book.mayHaveGone('dead', 'active');
    this.#resubmits += 1;
    await this.#ask('resubmit', () => this.#client.call('dead', 'resubmit', { maxMessages: 5 }));
    this.#resubmits += 1;
    this.book.mayHaveGone('dead', 'active');
  }

  async #purge(): Promise<void> {
    const { knowledge } = await this.#ask('purge', () => this.#client.call('main', 'purge'));
    this.book.purged(knowledge);
  }

  async #update(): Promise<void> {
    // Locks end, whether the answer comes or not.
    this.book.forgetLocks();
    await this.#ask('update', () => this.#client.put(this.#settings));
  }

  /** Makes a request; says what is known of its effect. Only what a failing database explains may come. */
  async #ask(what: string, request: () => Promise<Answer>) {
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
