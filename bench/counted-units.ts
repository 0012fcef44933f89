import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Gateway } from '../amqp/service/gateway.ts';
import { type ComposeSettings, compose } from '../lambdas/http/compose.ts';
import { createDynamoClient } from '../local/engine/dynamo-client.ts';
import { startServer } from '../local/server.ts';
import { ensureTables } from '../local/tables.ts';
import { composeDependencies } from '../shared/app/compose-dependencies.ts';
import { LEASE_MS } from '../shared/app/leases.ts';
import { reportFault } from '../shared/app/report-fault.ts';
import { firstRule } from '../shared/broker/management/rules.ts';
import { newSubscription } from '../shared/domain/entities/entity-settings.ts';
import { UnitMeter, type Units } from '../shared/storage/dynamodb/capacity-meter.ts';
import { DynamoRuleStore } from '../shared/storage/entities/rule-store.ts';
import { VirtualTime } from '../test/support/virtual-time.ts';
import { BenchClient } from './http-client.ts';
import { connectionStringOf } from './server-process.ts';

/** What one operation costs for each message, averaged over a few calls. */
export interface OperationCost {
  readonly write: number;
  readonly read: number;
  /** Requests to DynamoDB. */
  readonly requests: number;
  readonly httpRequests: number;
  /** Requests to DynamoDB that wait for one another before a call is answered; the worst call. */
  readonly roundTrips: number;
}

export const OPERATIONS = ['send', 'receive', 'settle'] as const;
export type Operation = (typeof OPERATIONS)[number];
export type Costs = Readonly<Record<Operation, OperationCost>>;

const TABLES = { entities: 'bench-entities', messages: 'bench-messages' } as const;
const ROOT_KEY = 'bench';
const CONNECTIONS = 8;
/** Outlasts any measurement. */
const LOCK_MS = 5 * 60_000;
/**
 * So far away is the engine made to seem, that what runs side by side ends side by side. Calls for
 * many messages make many requests at once, which come back farther apart.
 */
const ENGINE_DISTANCE_MS = { single: 30, batch: 150, none: 0 } as const;

/** A namespace whose requests to the engine are counted, behind real HTTP and AMQP. */
export interface CountingNamespace {
  readonly http: BenchClient;
  /** For clients that speak AMQP. */
  readonly connectionString: string;
  /** How far away the engine seems from now on; round trips cannot be told without a distance. */
  keepAway(distance: keyof typeof ENGINE_DISTANCE_MS): void;
  /** Does some calls, and tells what they cost, with what was left to do behind the answers. */
  counted<T>(calls: () => Promise<T>): Promise<{ answer: T; cost: OperationCost }>;
  /**
   * Creates a subscription with the default rule past management, which looks at all that there are
   * before each further one. Only for topics to which nothing was sent yet.
   */
  subscribe(path: string): Promise<void>;
  stop(): Promise<void>;
}

interface Served {
  /** Done up to the moment at which the answer left. */
  readonly answered: Units;
}

/**
 * Starts the namespace in this process, over the engine at an endpoint; `watch` may look at what the
 * client of the engine does.
 */
export async function startCounting(
  endpoint: string,
  watch?: (client: DynamoDBClient) => void,
  tier: ComposeSettings['tier'] = 'Standard',
): Promise<CountingNamespace> {
  const client = createDynamoClient(endpoint);
  watch?.(client);
  await ensureTables(client, TABLES);
  let distanceMs: number = ENGINE_DISTANCE_MS.none;
  keepDistance(client, () => distanceMs);
  const meter = new UnitMeter();
  // What the process remembers must not grow old between the calls that are counted.
  const time = new VirtualTime();
  const startedAt = Date.now();
  const settings: ComposeSettings = {
    client,
    tables: TABLES,
    namespace: `bench-${randomBytes(6).toString('hex')}`,
    clock: { now: () => startedAt + time.now() },
    scheduler: time,
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: 0,
    tier,
  };
  const composition = compose({ ...settings, meter });
  const served: Served[] = [];
  const app = {
    fetch: async (request: Request) => {
      const response = await composition.app.fetch(request);
      served.push({ answered: meter.take() });
      return response;
    },
  };
  const gateway = new Gateway({ ...composition.dependencies, reportFault });
  const { memory } = composition.dependencies;
  const server = await startServer({ app, memory, gateway, host: '127.0.0.1', port: 0 });
  const http = new BenchClient(server.url, ROOT_KEY, CONNECTIONS);
  return {
    http,
    connectionString: connectionStringOf(server.url, ROOT_KEY),
    subscribe: subscriberOf(settings),
    keepAway: (distance) => {
      distanceMs = ENGINE_DISTANCE_MS[distance];
    },
    counted: async (calls) => {
      await composition.idle();
      meter.take();
      served.length = 0;
      const answer = await calls();
      await composition.idle();
      return { answer, cost: costOf(served, meter.take()) };
    },
    stop: async () => {
      http.close();
      const closed = server.close();
      await gateway.close();
      await closed;
      await composition.close();
      client.destroy();
    },
  };
}

function subscriberOf(settings: ComposeSettings): CountingNamespace['subscribe'] {
  const { documents, entities, namespace, clock } = composeDependencies(settings);
  const rules = new DynamoRuleStore(documents, namespace, entities);
  const description = newSubscription({ lockMs: LOCK_MS });
  return async (path) => {
    const now = clock.now();
    const subscription = { key: path.toLowerCase(), name: path, description };
    await rules.createSubscription(subscription, { ...firstRule(undefined), createdAt: now }, now);
  };
}

/** Lets every request take at least that long: round trips in sequence can then be told. */
function keepDistance(client: DynamoDBClient, distanceMs: () => number): void {
  client.middlewareStack.add(
    (next) => async (input) => {
      const [answer] = await Promise.allSettled([next(input), delay(distanceMs())]);
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    },
    { step: 'finalizeRequest', name: 'keepDistance' },
  );
}

function costOf(served: readonly Served[], behind: Units): OperationCost {
  const all = [...served.map(({ answered }) => answered), behind];
  const sum = (unit: 'read' | 'write' | 'requests') =>
    all.reduce((total, units) => total + units[unit], 0);
  return {
    write: sum('write'),
    read: sum('read'),
    requests: sum('requests'),
    httpRequests: served.length,
    roundTrips: Math.max(0, ...served.map(({ answered }) => answered.roundTrips)),
  };
}

/** What calls for so many messages cost for each of them. */
export function perMessage(calls: readonly OperationCost[], messages: number): OperationCost {
  const mean = (unit: keyof OperationCost) =>
    calls.reduce((total, call) => total + call[unit], 0) / messages;
  return {
    write: mean('write'),
    read: mean('read'),
    requests: mean('requests'),
    httpRequests: mean('httpRequests'),
    roundTrips: Math.max(...calls.map(({ roundTrips }) => roundTrips)),
  };
}

/** So many bodies, from the start again where there are fewer. */
export function cycle(bodies: readonly Buffer[], count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, i) => bodies[i % bodies.length] ?? Buffer.alloc(0));
}
