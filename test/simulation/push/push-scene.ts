import assert from 'node:assert/strict';
import { CONSUMER_LIMITS, type Consumer } from '../../../shared/domain/consumers/consumer.ts';
import {
  QUEUE_DEFAULTS,
  type QueueDescription,
} from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath, type SubQueue } from '../../../shared/domain/entities/entity-path.ts';
import type { Batch, ConsumerReference, Reply } from '../../../shared/push/ports.ts';
import { DynamoConsumerStates } from '../../../shared/storage/consumers/consumer-states.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../../../shared/storage/schema/consumer-marks.ts';
import { topLevelKey } from '../../../shared/storage/schema/entity-keys.ts';
import { NO_FAULTS } from '../machines/network.ts';
import { NAMESPACE, TABLES } from '../machines/process.ts';
import { Random } from '../machines/random.ts';
import { START, Timeline } from '../machines/timeline.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import { PushProcess, type PushSurroundings, TENURE_MS } from './push-process.ts';

/** A call of a target: when it began, for which consumer, with which messages. */
export interface SceneCall {
  /** Since the scene began, ms. */
  readonly at: number;
  readonly consumer: string;
  readonly sessionId: string | undefined;
  readonly ids: readonly string[];
}

/** What a target does with a batch: the reply, after so long. */
export type Act = (
  batch: Batch,
  ids: readonly string[],
) => { readonly ms: number; readonly reply: Reply };

export const DONE: Reply = { kind: 'answered', failures: [] };
export const FAILED: Reply = { kind: 'failed', error: 'It threw.' };
export const MISSING: Reply = { kind: 'unavailable', why: 'missing', error: 'It is not there.' };

/** Fails if something took longer than it may, or did not happen. `what` = the sentence before the number. */
export function atMost(actual: number | undefined, most: number, what: string): void {
  assert.ok(actual !== undefined && actual <= most, `${what} ${actual} ms, at most ${most}`);
}

const PATH = parseEntityPath('orders');
const MINUTE = 60_000;
/** A function is killed so long after the time that its worker has. */
const REST_MS = 10_000;

/** A namespace with push in virtual time, in which one thing after the other is done. Nothing is lost on its way. */
export class Scene {
  readonly timeline = new Timeline();
  readonly calls: SceneCall[] = [];
  readonly processes: PushProcess[] = [];
  /** Workers whose process ended before they did. */
  killed = 0;
  readonly #act: Act;
  readonly #database: SimulatedDatabase;
  readonly #surroundings: PushSurroundings;
  #names = 0;
  #entityId = '';
  #consumers: Record<string, Consumer> = {};

  constructor(act: Act) {
    this.#act = act;
    const random = new Random('scene');
    this.#database = new SimulatedDatabase({
      now: () => this.timeline.now,
      random: () => random.fraction(),
      throttles: false,
    });
    this.#surroundings = {
      timeline: this.timeline,
      database: this.#database,
      random,
      faults: () => NO_FAULTS,
      start: async (of) => this.#work(of),
      reportFault: () => {},
    };
    this.#database.watch(TABLES.messages, ({ pk, item, isNew }) => {
      const mark = item[CONSUMER_MARK]?.N;
      const isTold = mark === CONSUMER_MARKS.ready || (mark === CONSUMER_MARKS.stored && isNew);
      if (isTold) this.timeline.after(100, () => void this.#wake(pk));
    });
  }

  /** Runs a scene to its end, with a sweep every minute. */
  async play(scene: () => Promise<void>): Promise<void> {
    const sweep = () => {
      const process = this.#process('sweep');
      process.run(() => process.sweep()).catch(() => {});
      this.timeline.after(MINUTE, sweep);
    };
    this.timeline.after(MINUTE, sweep);
    let isDone = false;
    const playing = scene().finally(() => {
      isDone = true;
    });
    await this.timeline.runUntil(() => isDone);
    await playing;
  }

  /** Since the scene began, ms. */
  get now(): number {
    return this.timeline.now - START;
  }

  pause(ms: number): Promise<void> {
    return this.timeline.pause(ms);
  }

  /** Creates the queue with its consumers. */
  async create(
    consumers: Readonly<Record<string, Partial<Consumer>>>,
    description: Partial<QueueDescription> = {},
  ): Promise<void> {
    const { dependencies } = this.#process('manage');
    const whole = { ...QUEUE_DEFAULTS, ...description };
    const { id } = await dependencies.entities.create(
      PATH.key,
      PATH.name,
      whole,
      this.timeline.now,
    );
    this.#entityId = id;
    const states = new DynamoConsumerStates(dependencies.documents, NAMESPACE);
    for (const [key, settings] of Object.entries(consumers)) {
      await dependencies.documents.transact([states.putOf(this.#reference(key))]);
      await this.put(key, settings);
    }
    // The first hourly look at all entities is over then; the next one is in an hour.
    await this.pause(2 * MINUTE);
  }

  /** Puts a consumer, by its key, and wakes it as management does. */
  async put(key: string, settings: Partial<Consumer>): Promise<void> {
    const [subQueue, name] = key.split('/') as [SubQueue, string];
    const before = this.#consumers[key];
    const consumer = { ...defaults(subQueue, name, this.timeline.now), ...before, ...settings };
    this.#consumers = { ...this.#consumers, [key]: consumer };
    const { documents } = this.#process('manage').dependencies;
    await documents.update(topLevelKey(NAMESPACE, PATH.key), {
      UpdateExpression: 'SET consumers = :consumers',
      ExpressionAttributeValues: { ':consumers': this.#consumers },
    });
    const process = this.#process('manage');
    const { context, entities } = process.dependencies;
    const entity = await entities.read(PATH.key);
    if (entity !== undefined) await process.run(() => context.consumers.wakeAll(entity));
  }

  /** Updates the queue, which ends all locks, and wakes its consumers as management does. */
  async update(changes: Partial<QueueDescription>): Promise<void> {
    const process = this.#process('manage');
    const { context, entities } = process.dependencies;
    const entity = await entities.read(PATH.key);
    if (entity === undefined) return;
    const description = { ...QUEUE_DEFAULTS, ...entity.description, ...changes, kind: 'queue' };
    const now = this.timeline.now;
    const updated = await entities.update(entity, description as QueueDescription, now);
    await process.run(() => context.consumers.wakeAll(updated));
  }

  /** Sends messages, each with its id; `session` = that of all. Bytes of the body, and of a property. */
  async send(
    ids: readonly string[],
    session?: string,
    { body = 10, property = 0 } = {},
  ): Promise<void> {
    const { broker } = this.#process('sender').dependencies;
    const sessionId = session === undefined ? {} : { sessionId: session };
    const messages = ids.map((messageId) => ({
      messageId,
      body: new Uint8Array(body).fill(120),
      properties:
        property === 0 ? {} : { text: { type: 'string' as const, value: 'x'.repeat(property) } },
      ...sessionId,
    }));
    await broker.send(PATH, messages);
  }

  /** Moves the messages of the queue to its dead-letter queue. */
  async deadLetterAll(): Promise<void> {
    const { broker } = this.#process('receiver').dependencies;
    const locked = await broker.receive(PATH, { mode: 'peekLock', maxMessages: 100, waitMs: 0 });
    const settlements = locked.flatMap((one) =>
      'lockToken' in one
        ? [{ lockToken: one.lockToken, action: { kind: 'deadLetter' } as const }]
        : [],
    );
    await broker.settle(PATH, settlements);
  }

  /** When the calls with a message began. */
  timesOf(id: string): readonly number[] {
    return this.calls.filter(({ ids }) => ids.includes(id)).map(({ at }) => at);
  }

  #reference(consumer: string): ConsumerReference {
    return { entityId: this.#entityId, entityKey: PATH.key, consumer };
  }

  #process(name: string, isWorker = false): PushProcess {
    return new PushProcess(`${name}${this.#names++}`, this.#surroundings, isWorker);
  }

  async #wake(pk: string): Promise<void> {
    const process = this.#process('stream');
    await process.run(() => process.wake([pk]));
  }

  /** A worker in a process that is killed when its time is over, and is then started again, as Lambda does it. */
  #work(of: ConsumerReference, tries = 0): void {
    this.timeline.after(50, () => {
      const process = this.#process('worker', true);
      this.processes.push(process);
      let isDone = false;
      const call = (batch: Batch) => this.#call(process, batch);
      const targets = { refusalOf: () => undefined, call };
      process
        .run(() => process.work(of, targets))
        .catch(() => {})
        .finally(() => {
          isDone = true;
        });
      const watch = () => {
        if (isDone) return;
        if (!process.isOver && this.timeline.now < until) {
          this.timeline.after(1000, watch);
          return;
        }
        this.killed++;
        process.crash();
        if (tries < 2) this.timeline.after(MINUTE, () => this.#work(of, tries + 1));
      };
      const until = this.timeline.now + TENURE_MS + REST_MS;
      watch();
    });
  }

  #call(process: PushProcess, batch: Batch): Promise<Reply> {
    const ids = batch.messages.map(({ message }) => message.messageId);
    const { consumer, sessionId } = batch;
    this.calls.push({ at: this.now, consumer: consumer.name, sessionId, ids });
    const { ms, reply } = this.#act(batch, ids);
    return new Promise((resolve) => {
      process.machine.deliver(this.timeline.now + ms, () => resolve(reply));
    });
  }
}

function defaults(subQueue: SubQueue, name: string, now: number): Consumer {
  return {
    name,
    subQueue,
    id: name,
    version: 1,
    createdAt: now,
    updatedAt: now,
    target: 'simulated',
    enabled: true,
    maxBatch: CONSUMER_LIMITS.maxBatchDefault,
    maxConcurrency: CONSUMER_LIMITS.maxConcurrencyDefault,
    batchWindowMs: 0,
    timeoutMs: 30_000,
  };
}
