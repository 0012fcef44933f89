import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Gateway } from '../../amqp/service/gateway.ts';
import { type ComposeSettings, type Composition, compose } from '../../lambdas/http/compose.ts';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { type EngineAddress, engineAddress } from '../../local/engine/engine-address.ts';
import { startServer } from '../../local/server.ts';
import { ensureTables } from '../../local/tables.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { reportFault } from '../../shared/app/report-fault.ts';
import type { RootKeySource } from '../../shared/auth/root-key.ts';
import type { RandomSource } from '../../shared/domain/clock.ts';
import type { StorageLimits } from '../../shared/domain/limits.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Compression } from '../../shared/storage/blocks/compression.ts';
import { UnitMeter } from '../../shared/storage/dynamodb/capacity-meter.ts';
import type { TableOptions } from '../../shared/storage/dynamodb/requests.ts';
import { ApiClient } from './api-client.ts';
import { isInTurns } from './in-turns.ts';
import { ManualClock } from './manual-clock.ts';
import { TestBroker } from './test-broker.ts';
import { Turns } from './turns.ts';
import { VirtualTime } from './virtual-time.ts';

export const ROOT_KEY = 'SAS_KEY_VALUE';
/** Of this process alone: some tests look through all that is there. */
export const TABLES = {
  entities: `test-${process.pid}-entities`,
  messages: `test-${process.pid}-messages`,
} as const;

export interface StartOptions {
  /** Makes the run repeatable. */
  readonly seed?: string;
  /** A second process of an existing namespace. */
  readonly beside?: TestBroker;
  readonly client?: DynamoDBClient;
  /** Standard if it is not named. */
  readonly tier?: ComposeSettings['tier'];
  /** A wall clock of this process's own; else that of `beside`, or a new one. */
  readonly clock?: ManualClock;
  /** By which tokens expire; `clock` if none is given, as in a deployment. */
  readonly tokenClock?: ManualClock;
  /** The monotonic clock of this process, and how it waits. */
  readonly scheduler?: Scheduler;
  /** The product's own if none is given. */
  readonly compression?: Compression;
  /** The service's own if none are given. */
  readonly limits?: StorageLimits;
  /** What peers may have the process hold; a part of the heap if it is not named. */
  readonly memoryBytes?: number;
  /** Where this process gets the root keys; `ROOT_KEY` alone if it is not named. */
  readonly rootKey?: RootKeySource;
}

/** A client of the engine that `npm test` has started. */
export function engineClient(): DynamoDBClient {
  return createDynamoClient(engineEndpoint());
}

let shared: DynamoDBClient | undefined;

/** One client for all processes of tests that change nothing about it: to make one costs as much as ten requests. */
function sharedClient(): DynamoDBClient {
  shared ??= engineClient();
  return shared;
}

/** Where that engine answers, and its access key: for processes that know nothing of ours. */
export function engineOfTests(): EngineAddress {
  return engineAddress(engineEndpoint());
}

function engineEndpoint(): string {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint === undefined) throw new Error('No engine is running: start tests by `npm test`.');
  return endpoint;
}

/** What a table is used with that no broker stands before. */
export function tableOptions(meter?: UnitMeter): TableOptions {
  return { scheduler: realScheduler, random: randomSource(), meter };
}

let making: Promise<void> | undefined;

/** Makes the tables of this process, once for all of its tests. */
export function tablesExist(): Promise<void> {
  making ??= makeTables();
  return making;
}

async function makeTables(): Promise<void> {
  const client = engineClient();
  await ensureTables(client, TABLES);
  client.destroy();
}

/**
 * A namespace of its own for one test: the whole app on a port, with a clock that stands still. In the
 * mode of `registerInTurns` two processes answer in turns; a broker `beside` another one is one process.
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
  const areInTurns = isInTurns() && beside === undefined;
  const others = areInTurns ? [start(randomSource(seed && `${seed}+`))] : [];
  const processes = [first, ...others];
  const turns = areInTurns ? new Turns(processes, time) : undefined;
  const gateway = new Gateway({ ...first.dependencies, reportFault });
  const app = turns ?? first.app;
  const { memory } = first.dependencies;
  const server = await startServer({ app, memory, gateway, host: '127.0.0.1', port: 0 });
  t.after(async () => {
    const closed = server.close();
    await gateway.close();
    for (const process of processes) await process.close();
    await closed;
  });
  return new TestBroker({
    api: new ApiClient(server.url, ROOT_KEY),
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
  const { tier = 'Standard', compression, memoryBytes, tokenClock, limits } = options;
  const composition = compose({
    ...settings,
    client: options.client ?? sharedClient(),
    tables: TABLES,
    tier,
    rootKey: options.rootKey ?? ROOT_KEY,
    receiveWaitMsMax: 60_000,
    ...(compression && { compression }),
    ...(tokenClock && { tokenClock }),
    ...(limits && { limits }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  });
  settings.clock.onMove(() => composition.wake());
  return composition;
}

/** Random bytes; the same ones for the same seed. */
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
