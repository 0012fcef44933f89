import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { type ComposeSettings, type Composition, compose } from '../../lambdas/http/compose.ts';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { type EngineAddress, engineAddress } from '../../local/engine/engine-address.ts';
import { startServer } from '../../local/server.ts';
import { ensureTables } from '../../local/tables.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { reportFault } from '../../shared/app/report-fault.ts';
import type { RootKeySource } from '../../shared/auth/root-key.ts';
import { ONE_AT_A_TIME } from '../../shared/broker/create-broker.ts';
import type { RandomSource } from '../../shared/domain/clock.ts';
import { LIMITS, type StorageLimits } from '../../shared/domain/limits.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Compression } from '../../shared/storage/blocks/compression.ts';
import { UnitMeter } from '../../shared/storage/dynamodb/capacity-meter.ts';
import type { TableOptions } from '../../shared/storage/dynamodb/requests.ts';
import { AlternatingProcesses } from './alternating-processes.ts';
import { ApiClient } from './api-client.ts';
import { LambdaFunction } from './lambda-events.ts';
import { ManualClock } from './manual-clock.ts';
import { sendOverHttp } from './send-over-http.ts';
import { specMode } from './spec-modes.ts';
import { TestBroker } from './test-broker.ts';
import { VirtualTime } from './virtual-time.ts';

export const ROOT_KEY = 'SAS_KEY_VALUE';
/** Tables of this process alone, because some tests scan whole tables. */
export const TABLES = {
  entities: `test-${process.pid}-entities`,
  messages: `test-${process.pid}-messages`,
} as const;

export interface StartOptions {
  /** Makes random bytes repeatable. */
  readonly seed?: string;
  /** Whether it serves one request at a time, as a function does, which leaves to the sweep what it scheduled. */
  readonly asFunction?: boolean;
  /** An existing namespace, of which this becomes a second process. */
  readonly beside?: TestBroker;
  readonly client?: DynamoDBClient;
  /** Default: Standard. */
  readonly tier?: ComposeSettings['tier'];
  /** The wall clock of this process. Default: that of `beside`, or a new one. */
  readonly clock?: ManualClock;
  /** The clock by which tokens expire. Default: `clock`, as in a deployment. */
  readonly tokenClock?: ManualClock;
  /** The monotonic clock and the timers of this process. */
  readonly scheduler?: Scheduler;
  /** Default: the compression of the product. */
  readonly compression?: Compression;
  /** Default: the limits of the service. */
  readonly limits?: StorageLimits;
  /** The memory limit for all peers. Default: a part of the heap. */
  readonly memoryBytes?: number;
  /** What the dispatcher says to management. Default: the namespace has no dispatcher. */
  readonly push?: ComposeSettings['push'];
  /** Makes what hears of messages for consumers. Default: nobody does. */
  readonly consumers?: ComposeSettings['consumers'];
  /** The source of the root keys. Default: `ROOT_KEY` alone. */
  readonly rootKey?: RootKeySource;
}

/** A new client of the engine that `npm test` has started. */
export function engineClient(): DynamoDBClient {
  return createDynamoClient(engineEndpoint());
}

let shared: DynamoDBClient | undefined;

/** One client for all tests that do not modify it, because a new client costs as much as ten requests. */
function sharedClient(): DynamoDBClient {
  shared ??= engineClient();
  return shared;
}

/** The endpoint and the access key of that engine, for other processes. */
export function engineOfTests(): EngineAddress {
  return engineAddress(engineEndpoint());
}

function engineEndpoint(): string {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint === undefined) throw new Error('No engine is running: start tests by `npm test`.');
  return endpoint;
}

/** Options for a test that uses a table without a broker. */
export function tableOptions(meter?: UnitMeter): TableOptions {
  return { scheduler: realScheduler, random: randomSource(), meter };
}

let creating: Promise<void> | undefined;

/** Creates the tables of this process, once for all of its tests. */
export function tablesExist(): Promise<void> {
  creating ??= createTables();
  return creating;
}

async function createTables(): Promise<void> {
  const client = engineClient();
  await ensureTables(client, TABLES);
  client.destroy();
}

/**
 * Starts a new namespace for one test: the whole app on a port, with a clock that stands still. In the modes of
 * `registerSpecs` two processes answer alternately, except that a broker `beside` another one is always one process;
 * or each request goes through the function behind a function URL.
 */
export async function startBroker(t: TestContext, options: StartOptions = {}): Promise<TestBroker> {
  const { beside, seed } = options;
  await tablesExist();
  const clock = options.clock ?? beside?.clock ?? new ManualClock();
  const namespace = beside?.namespace ?? `test-${randomBytes(6).toString('hex')}`;
  const meter = new UnitMeter();
  const time = beside?.time ?? new VirtualTime();
  const scheduler = options.scheduler ?? time;
  const place = { clock, namespace, meter, leaseMs: LEASE_MS.deployed, scheduler };
  const start = (random: RandomSource) => startProcess(options, { ...place, random });
  const first = start(randomSource(seed));
  const areAlternating = specMode() === 'alternating' && beside === undefined;
  const others = areAlternating ? [start(randomSource(seed && `${seed}+`))] : [];
  const processes = [first, ...others];
  const turns = areAlternating ? new AlternatingProcesses(processes, time) : undefined;
  const amqp = new AmqpServer({ ...first.dependencies, reportFault });
  const app = turns ?? (isFunction() ? new LambdaFunction(first, 'functionUrl') : first.app);
  const { memory } = first.dependencies;
  const server = await startServer({ app, memory, amqp, host: '127.0.0.1', port: 0 });
  t.after(async () => {
    const closed = server.close();
    await amqp.close();
    for (const process of processes) await process.close();
    await closed;
  });
  return new TestBroker({
    api: new ApiClient(server.url, ROOT_KEY, sendOverHttp),
    clock,
    meter,
    namespace,
    composition: turns ?? first,
    time,
  });
}

type ProcessSettings = Omit<
  ComposeSettings,
  'client' | 'tables' | 'tier' | 'rootKey' | 'receiveWaitMsMax'
>;

function startProcess(
  options: StartOptions,
  settings: ProcessSettings & { readonly clock: ManualClock },
): Composition {
  const {
    tier = 'Standard',
    compression,
    memoryBytes,
    tokenClock,
    limits,
    push,
    consumers,
  } = options;
  const whole: ComposeSettings = {
    ...settings,
    client: options.client ?? sharedClient(),
    tables: TABLES,
    tier,
    rootKey: options.rootKey ?? ROOT_KEY,
    receiveWaitMsMax: 60_000,
    ...(compression && { compression }),
    ...(tokenClock && { tokenClock }),
    ...(limits && { limits }),
    ...(push && { push }),
    ...(consumers && { consumers }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
  const composition =
    isFunction() || options.asFunction === true
      ? compose({ ...whole, answerBytesMax: LIMITS.answerBytes }, ONE_AT_A_TIME)
      : compose(whole);
  settings.clock.onMove(() => composition.wake());
  return composition;
}

function isFunction(): boolean {
  return specMode() === 'function URL';
}

/** Random bytes; the same seed repeats them. */
function randomSource(seed?: string): RandomSource {
  if (seed === undefined) return { bytes: (count: number) => new Uint8Array(randomBytes(count)) };
  let drawn = 0;
  return {
    bytes: (count: number) => {
      const pool: Buffer[] = [];
      for (let length = 0; length < count; length += 32) {
        pool.push(createHash('sha256').update(`${seed}:${drawn++}`).digest());
      }
      return new Uint8Array(Buffer.concat(pool).subarray(0, count));
    },
  };
}
