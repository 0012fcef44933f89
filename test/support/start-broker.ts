import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Gateway } from '../../amqp/service/gateway.ts';
import { type ComposeSettings, type Composition, compose } from '../../lambdas/http/compose.ts';
import { reportFault } from '../../lambdas/http/report-fault.ts';
import { createDynamoClient } from '../../local/dynamo-client.ts';
import { startServer } from '../../local/server.ts';
import { ensureTables } from '../../local/tables.ts';
import { UnitMeter } from '../../shared/storage/unit-meter.ts';
import { ApiClient } from './api-client.ts';
import { ManualClock } from './manual-clock.ts';
import { TestBroker } from './test-broker.ts';

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
}

/** The engine that `npm test` has started. */
export function engineClient(): DynamoDBClient {
  const endpoint = process.env['DYNAMODB_ENDPOINT'];
  if (endpoint === undefined) throw new Error('No engine is running: start tests by `npm test`.');
  return createDynamoClient(endpoint);
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

/** A namespace of its own for one test: the whole app on a port, with a clock that stands still. */
export async function startBroker(t: TestContext, options: StartOptions = {}): Promise<TestBroker> {
  const { beside, tier = 'Standard' } = options;
  const client = options.client ?? engineClient();
  await tablesExist();
  const clock = beside?.clock ?? new ManualClock();
  const meter = new UnitMeter();
  const namespace = beside?.namespace ?? `test-${randomBytes(6).toString('hex')}`;
  const composition: Composition = compose({
    client,
    tables: TABLES,
    namespace,
    tier,
    clock,
    random: randomSource(options.seed),
    rootKey: ROOT_KEY,
    soleProcess: beside === undefined,
    receiveWaitMsMax: 60_000,
    meter,
  });
  clock.onMove(() => composition.wake());
  const gateway = new Gateway({ ...composition.parts, reportFault });
  const server = await startServer({ app: composition.app, gateway, host: '127.0.0.1', port: 0 });
  t.after(async () => {
    const closed = server.close();
    await gateway.close();
    await composition.close();
    await closed;
    if (options.client === undefined) client.destroy();
  });
  return new TestBroker({
    api: new ApiClient(server.url, ROOT_KEY),
    clock,
    meter,
    namespace,
    composition,
  });
}

/** Random bytes; the same ones for the same seed. */
function randomSource(seed: string | undefined) {
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
