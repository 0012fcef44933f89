import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { WaitStream } from '../../shared/app/open-stream.ts';
import type { ReceivedMessage, ReceiveOptions } from '../../shared/broker/broker.ts';
import type { EntitySettings } from '../../shared/broker/management/describe-entity.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { UnitMeter, type Units } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { ask, startProcess } from './composed-process.ts';
import { TABLES } from './start-broker.ts';
import { SteppedTime } from './stepped-time.ts';
import { STREAMED_TABLES } from './streamed-tables.ts';

const HOUR_MS = 3_600_000;
/** Steps in which a test waits for a message, ms. */
const STEP_MS = 100;

type Process = Awaited<ReturnType<typeof startProcess>>;

/** A process whose receivers wait, and another one; they share nothing but the tables and the wall clock. */
export interface IdleReceivers {
  readonly waiting: Process;
  readonly other: Process;
  readonly time: SteppedTime;
  /** Creates an entity through the other process. */
  create(path: string, settings: EntitySettings): Promise<void>;
  /** Begins a receive that waits for an hour. */
  receive(path: string, more?: Partial<ReceiveOptions>): Waiting;
  /** What the waiting process asks of the database while time passes. */
  unitsDuring(ms: number): Promise<Units>;
}

/** A receive that waits. */
export class Waiting {
  readonly #time: SteppedTime;
  #outcome: readonly ReceivedMessage[] | Error | undefined;

  constructor(time: SteppedTime, receiving: Promise<readonly ReceivedMessage[]>) {
    this.#time = time;
    receiving.then(
      (messages) => {
        this.#outcome = messages;
      },
      (error: Error) => {
        this.#outcome = error;
      },
    );
  }

  /** Lets time pass until the receive ends, for `ms` at most, and returns how it ended. */
  async within(ms: number): Promise<string> {
    for (let passed = 0; passed < ms && this.#outcome === undefined; passed += STEP_MS) {
      await this.#time.pass(STEP_MS);
    }
    const outcome = this.#outcome;
    if (outcome === undefined) return 'waits';
    if (outcome instanceof Error) return 'code' in outcome ? String(outcome.code) : String(outcome);
    return outcome.map(({ message }) => Buffer.from(message.body).toString()).join();
  }

  /** Lets time pass, in which the receive must not end. */
  async idle(ms: number): Promise<void> {
    await this.#time.pass(ms);
    assert.equal(this.#outcome, undefined);
  }
}

interface Options {
  /** Awaited before each request of the waiting process; an error that it throws is the result. */
  readonly hook?: (command: string) => void | Promise<void>;
  /** The client of the other process, which the caller destroys. */
  readonly otherClient?: DynamoDBClient;
  /** Has the waiting process read the stream of the messages table. */
  readonly stream?: (time: SteppedTime) => Promise<WaitStream>;
}

/** Starts both processes. */
export async function startIdleReceivers(
  t: TestContext,
  { hook = () => {}, otherClient, stream }: Options = {},
): Promise<IdleReceivers> {
  const time = new SteppedTime();
  const [here, there] = [time.client(), time.client()];
  t.after(() => {
    here.destroy();
    there.destroy();
  });
  here.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        await hook(commandName);
        return await next(args);
      },
    // Outside of what holds the time, so that time passes while a hook waits.
    { step: 'initialize', priority: 'high', name: 'hook' },
  );
  const meter = new UnitMeter();
  const tables = stream === undefined ? TABLES : STREAMED_TABLES;
  const shared = { clock: time.clock, tier: 'Standard' as const, tables };
  const own = { client: here, scheduler: time, meter, stream: await stream?.(time) };
  const waiting = await startProcess(t, { ...shared, ...own });
  const { namespace } = waiting;
  const other = await startProcess(t, { ...shared, client: otherClient ?? there, namespace });
  return {
    waiting,
    other,
    time,
    create: async (path, settings) => {
      await other.management.create(path, settings);
    },
    receive: (path, more) => {
      const options = ask({ waitMs: HOUR_MS, ...more });
      return new Waiting(time, waiting.broker.receive(pathOf(path), options));
    },
    unitsDuring: async (ms) => {
      meter.take();
      await time.pass(ms);
      return meter.take();
    },
  };
}

/** The path of an entity in these tests. */
export function pathOf(path: string): EntityPath {
  return parseEntityPath(path);
}
