import type { Consumer } from '../../../shared/domain/consumers/consumer.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { ConsumerReference } from '../../../shared/push/ports.ts';
import { DynamoConsumerStates } from '../../../shared/storage/consumers/consumer-states.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../../../shared/storage/schema/consumer-marks.ts';
import { topLevelKey } from '../../../shared/storage/schema/entity-keys.ts';
import { NO_FAULTS } from '../machines/network.ts';
import { NAMESPACE, TABLES } from '../machines/process.ts';
import { Random } from '../machines/random.ts';
import { Timeline } from '../machines/timeline.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import { checkPush } from './push-check.ts';
import type { PushPlan } from './push-plans.ts';
import { PushProcess, type PushSurroundings } from './push-process.ts';
import { CALM, SimulatedTarget } from './push-target.ts';

/** What a run shows. */
export interface PushRun {
  readonly violations: readonly string[];
  readonly target: SimulatedTarget;
  readonly workers: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** How long messages are sent, and things go wrong. */
const BUSY_MS = 3 * MINUTE;
const PATH = parseEntityPath('orders');
/** Lambda runs a function again whose process has ended, after so long. */
const RETRY_MS = MINUTE;

/** Runs a plan to its end. */
export async function runPush(plan: PushPlan): Promise<PushRun> {
  const run = new Run(plan);
  let isDone = false;
  const all = run.all().finally(() => {
    isDone = true;
  });
  const finished = await run.timeline.runUntil(() => isDone);
  if (!finished) return { violations: ['The run is stuck.'], target: run.target, workers: 0 };
  await all;
  return { violations: run.violations, target: run.target, workers: run.workers };
}

/** When a message may be pushed: the sweep finds a scheduled one, once a minute. */
function dueAt(message: { readonly scheduledEnqueueAt?: number }, now: number): number {
  const { scheduledEnqueueAt: due } = message;
  return due === undefined || due <= now ? now : due + 70_000;
}

class Run {
  readonly timeline = new Timeline();
  readonly violations: string[] = [];
  readonly target: SimulatedTarget;
  workers = 0;
  readonly #plan: PushPlan;
  readonly #random: Random;
  readonly #database: SimulatedDatabase;
  readonly #surroundings: PushSurroundings;
  readonly #working = new Set<PushProcess>();
  /** By message, when it may be pushed. */
  readonly #sent = new Map<string, number>();
  #isCalm = false;
  #names = 0;

  constructor(plan: PushPlan) {
    this.#plan = plan;
    this.#random = new Random(plan.seed);
    this.#database = new SimulatedDatabase({
      now: () => this.timeline.now,
      random: () => this.#random.fraction(),
      throttles: false,
    });
    this.target = new SimulatedTarget(this.timeline, this.#random.fork('target'), plan);
    this.#surroundings = {
      timeline: this.timeline,
      database: this.#database,
      random: this.#random,
      faults: () => (this.#isCalm ? NO_FAULTS : plan.network),
      start: async (of) => this.#startWorker(of),
      reportFault: () => {},
    };
    this.#database.watch(TABLES.messages, ({ pk, item, isNew }) => {
      const mark = item[CONSUMER_MARK]?.N;
      const isTold = mark === CONSUMER_MARKS.ready || (mark === CONSUMER_MARKS.stored && isNew);
      if (isTold) this.#tell(pk);
    });
  }

  async all(): Promise<void> {
    await this.#create();
    this.target.mood = this.#plan.mood;
    this.#sweepEveryMinute();
    this.#disturb();
    const clients = [this.#send(), this.#receiveBeside()];
    await this.timeline.pause(BUSY_MS);
    this.#isCalm = true;
    this.target.mood = CALM;
    await Promise.all(clients);
    // Delays, locks, leases and pauses end, and the hourly look finds what nobody told.
    await this.timeline.pause(3 * HOUR);
    const { broker } = this.#process('check').dependencies;
    const { sessions } = this.#plan;
    const seen = {
      sessions,
      sent: this.#sent,
      target: this.target,
      lateMsMax: this.#plan.lateMsMax,
    };
    this.violations.push(...(await checkPush(broker, PATH, seen)));
  }

  #process(name: string, isWorker = false): PushProcess {
    return new PushProcess(`${name}${this.#names++}`, this.#surroundings, isWorker);
  }

  async #create(): Promise<void> {
    this.#isCalm = true;
    const { sessions, lockMs, partitioned, ...plan } = this.#plan;
    const { dependencies } = this.#process('manage');
    const description = {
      ...QUEUE_DEFAULTS,
      requiresSession: sessions > 0,
      lockMs,
      enablePartitioning: partitioned,
      maxDeliveryCount: 5,
    };
    const now = this.timeline.now;
    const { entities, documents } = dependencies;
    const { id } = await entities.create(PATH.key, PATH.name, description, now);
    const consumer: Consumer = {
      name: 'billing',
      subQueue: 'main',
      id: 'c1',
      version: 1,
      createdAt: now,
      updatedAt: now,
      target: 'simulated',
      enabled: true,
      maxBatch: plan.maxBatch,
      maxConcurrency: plan.maxConcurrency,
      batchWindowMs: plan.batchWindowMs,
      timeoutMs: plan.timeoutMs,
    };
    const of = { entityId: id, entityKey: PATH.key, consumer: 'main/billing' };
    const states = new DynamoConsumerStates(documents, NAMESPACE);
    await documents.update(topLevelKey(NAMESPACE, PATH.key), {
      UpdateExpression: 'SET consumers = :consumers',
      ExpressionAttributeValues: { ':consumers': { [of.consumer]: consumer } },
    });
    await documents.transact([states.putOf(of)]);
    // Until every process knows of it.
    await this.timeline.pause(5000);
    this.#isCalm = false;
  }

  /** A record of the table's stream. */
  #tell(pk: string): void {
    const { stream } = this.#plan;
    const random = this.#random;
    if (!this.#isCalm && random.chance(stream.lost)) return;
    const times = !this.#isCalm && random.chance(stream.doubled) ? 2 : 1;
    for (let i = 0; i < times; i++) {
      this.timeline.after(random.between(1, this.#isCalm ? 200 : stream.msMax), () => {
        void this.#wake(pk, 0);
      });
    }
  }

  async #wake(pk: string, tries: number): Promise<void> {
    const process = this.#process('stream');
    try {
      await process.run(() => process.wake([pk]));
    } catch {
      // Lambda calls a stream's function again until it succeeds.
      if (tries < 100) this.timeline.after(500, () => void this.#wake(pk, tries + 1));
    }
  }

  /** Invokes the worker asynchronously, as Lambda does: again if its process ends. */
  #startWorker(of: ConsumerReference, tries = 0): void {
    this.timeline.after(this.#random.between(5, 100), () => {
      this.workers++;
      const process = this.#process('worker', true);
      this.#working.add(process);
      let isRetried = false;
      const retry = () => {
        if (isRetried) return;
        isRetried = true;
        if (tries < 2) this.timeline.after(RETRY_MS, () => this.#startWorker(of, tries + 1));
      };
      const watch = () => {
        if (process.isOver) retry();
        else if (this.#working.has(process)) this.timeline.after(1000, watch);
      };
      watch();
      process
        .run(() => process.work(of, this.target.of(process.machine)))
        .catch(retry)
        .finally(() => this.#working.delete(process));
    });
  }

  #sweepEveryMinute(): void {
    const sweep = () => {
      const process = this.#process('sweep');
      process.run(() => process.sweep()).catch(() => {});
      if (this.timeline.now < Number.MAX_SAFE_INTEGER) this.timeline.after(MINUTE, sweep);
    };
    this.timeline.after(MINUTE, sweep);
  }

  #disturb(): void {
    const { faultsPerMinute } = this.#plan;
    if (faultsPerMinute === 0) return;
    const next = () => {
      if (this.#isCalm) return;
      const working = [...this.#working];
      const process = working.length === 0 ? undefined : this.#random.pick(working);
      if (this.#random.chance(0.5)) process?.freeze(this.#random.between(100, 2 * MINUTE));
      else if (process !== undefined) {
        process.crash();
        this.timeline.after(2000, () => this.#working.delete(process));
      }
      this.timeline.after(this.#random.between(1, (2 * MINUTE) / faultsPerMinute), next);
    };
    this.timeline.after(this.#random.between(1, MINUTE / faultsPerMinute), next);
  }

  async #send(): Promise<void> {
    const { messages, sessions } = this.#plan;
    const random = this.#random.fork('send');
    for (let i = 0; i < messages; ) {
      const count = Math.min(messages - i, 1 + random.below(5));
      const batch = Array.from({ length: count }, () => {
        const messageId = `${random.chance(this.#plan.poison) ? 'poison' : 'm'}${i++}`;
        return {
          messageId,
          body: new Uint8Array(10),
          properties: {},
          ...(sessions > 0 ? { sessionId: `s${random.below(sessions)}` } : {}),
          ...(sessions === 0 && random.chance(0.1)
            ? { scheduledEnqueueAt: this.timeline.now + random.below(90_000) }
            : {}),
        };
      });
      const process = this.#process('sender');
      // Sends of one session follow one another, so that their order is known.
      for (const message of batch) {
        const sending = process.run(() => process.dependencies.broker.send(PATH, [message]));
        await sending.then(
          () => this.#sent.set(message.messageId, dueAt(message, this.timeline.now)),
          () => {},
        );
      }
      await this.timeline.pause(random.below((2 * BUSY_MS) / messages));
    }
  }

  /** Another receiver, which locks messages and leaves or abandons them. */
  async #receiveBeside(): Promise<void> {
    if (!this.#plan.otherReceiver || this.#plan.sessions > 0) return;
    const random = this.#random.fork('other');
    while (!this.#isCalm) {
      await this.timeline.pause(random.below(30_000));
      const process = this.#process('other');
      const { broker } = process.dependencies;
      await process
        .run(async () => {
          const options = { mode: 'peekLock', maxMessages: 3, waitMs: 0 } as const;
          const locked = await broker.receive(PATH, options);
          const tokens = locked.flatMap((one) => ('lockToken' in one ? [one.lockToken] : []));
          const delayMs = random.below(60_000);
          const action = { kind: 'abandon', isUncounted: true, delayMs } as const;
          if (random.chance(0.5) || tokens.length === 0) return;
          const settlements = tokens.map((lockToken) => ({ lockToken, action }));
          await broker.settle(PATH, settlements);
        })
        .catch(() => {});
    }
  }
}
