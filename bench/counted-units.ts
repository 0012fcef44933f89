import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { AmqpServer } from '../amqp/service/amqp-server.ts';
import { type ComposeSettings, type Composition, compose } from '../lambdas/http/compose.ts';
import { createDynamoClient } from '../local/engine/dynamo-client.ts';
import { startServer } from '../local/server.ts';
import { ensureTables } from '../local/tables.ts';
import { composeDependencies } from '../shared/app/compose-dependencies.ts';
import { LEASE_MS } from '../shared/app/leases.ts';
import { realScheduler } from '../shared/app/real-scheduler.ts';
import { reportFault } from '../shared/app/report-fault.ts';
import { firstRule } from '../shared/broker/management/rules.ts';
import { newSubscription } from '../shared/domain/entities/entity-settings.ts';
import type { Scheduler } from '../shared/domain/scheduler.ts';
import { UnitMeter, type Units } from '../shared/storage/dynamodb/capacity-meter.ts';
import { DynamoRuleStore } from '../shared/storage/entities/rule-store.ts';
import { LEASE_END_MS, VirtualTime } from '../test/support/virtual-time.ts';
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
/** Longer than any measurement. */
const LOCK_MS = 5 * 60_000;
/**
 * The latency that is added to each request to the engine, so that requests in parallel end together and round trips
 * can be counted. A call for many messages needs more, because the ends of its many requests are further apart.
 */
const ADDED_LATENCY_MS = { single: 30, batch: 150, none: 0 } as const;

/** A namespace whose requests to the engine are counted, behind real HTTP and AMQP. */
export interface CountingNamespace {
  readonly http: BenchClient;
  /** For clients that speak AMQP. */
  readonly connectionString: string;
  readonly port: number;
  /** The key of RootManageSharedAccessKey. */
  readonly rootKey: string;
  /** Creates a client with a number of connections; the caller closes it. */
  connect(connections: number): BenchClient;
  /** Sets the latency that is added to each request to the engine. Without it, round trips cannot be counted. */
  setAddedLatency(latency: keyof typeof ADDED_LATENCY_MS): void;
  /** Makes calls and returns their cost, including work after the answers. */
  counted<T>(calls: () => Promise<T>): Promise<{ answer: T; cost: OperationCost }>;
  /** What another process needs to serve the same namespace. Its work is counted with this one's. */
  readonly settings: ComposeSettings;
  /** Has the work that another process has left behind its answers counted. Returns a function that ends this. */
  join(process: Pick<Composition, 'idle'>): () => void;
  /**
   * Creates a subscription with the default rule directly in storage, because management reads all existing
   * subscriptions before it creates another one. Only for topics to which nothing was sent yet.
   */
  subscribe(path: string): Promise<void>;
  stop(): Promise<void>;
}

interface Served {
  /** Units up to the answer. */
  readonly answered: Units;
}

export interface CountingOptions {
  /** Called with the client of the engine, to observe its requests. */
  readonly watch?: (client: DynamoDBClient) => void;
  /** Default: Standard. */
  readonly tier?: ComposeSettings['tier'];
  /**
   * `virtual` (default): caches of the process do not expire between the counted calls. `real`: calls that share a
   * write wait for each other as they do in a server.
   */
  readonly time?: 'virtual' | 'real';
  /** How much longer each answer over HTTP takes, ms, for the way to AWS and back; default: 0. */
  readonly answerMs?: number;
}

/** Starts the namespace in this process, over the engine at an endpoint. */
export async function startCounting(
  endpoint: string,
  { watch, tier = 'Standard', time: kind = 'virtual', answerMs = 0 }: CountingOptions = {},
): Promise<CountingNamespace> {
  const client = createDynamoClient(endpoint);
  watch?.(client);
  await ensureTables(client, TABLES);
  let addedMs: number = ADDED_LATENCY_MS.none;
  addLatency(client, () => addedMs);
  const meter = new UnitMeter();
  const time = kind === 'virtual' ? new VirtualTime() : REAL_TIME;
  const startedAt = Date.now();
  const began = time.now();
  const settings: ComposeSettings = {
    client,
    tables: TABLES,
    namespace: `bench-${randomBytes(6).toString('hex')}`,
    clock: { now: () => Math.floor(startedAt + time.now() - began) },
    scheduler: time,
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: 0,
    tier,
    meter,
  };
  const composition = compose(settings);
  const processes = new Set<Pick<Composition, 'idle'>>([composition]);
  const served: Served[] = [];
  const app = countingApp(composition, (answered) => served.push({ answered }), meter, answerMs);
  const amqp = new AmqpServer({ ...composition.dependencies, reportFault });
  const { memory } = composition.dependencies;
  const server = await startServer({ app, memory, amqp, host: '127.0.0.1', port: 0 });
  const http = new BenchClient(server.url, ROOT_KEY, CONNECTIONS);
  return {
    http,
    connectionString: connectionStringOf(server.url, ROOT_KEY),
    port: Number(new URL(server.url).port),
    rootKey: ROOT_KEY,
    connect: (connections) => new BenchClient(server.url, ROOT_KEY, connections),
    settings,
    join: (process) => {
      processes.add(process);
      return () => processes.delete(process);
    },
    subscribe: subscriberOf(settings),
    setAddedLatency: (latency) => {
      addedMs = ADDED_LATENCY_MS[latency];
    },
    counted: async (calls) => {
      await allIdle(processes);
      meter.take();
      served.length = 0;
      const answer = await calls();
      await allIdle(processes);
      return { answer, cost: costOf(served, meter.take()) };
    },
    stop: async () => {
      http.close();
      const closed = server.close();
      await amqp.close();
      await closed;
      await composition.close();
      client.destroy();
    },
  };
}

/** Serves a namespace, and reports the units of each answer. */
function countingApp(
  { app }: Composition,
  onAnswer: (answered: Units) => void,
  meter: UnitMeter,
  answerMs: number,
) {
  return {
    fetch: async (request: Request) => {
      const response = await app.fetch(request);
      onAnswer(meter.take());
      if (answerMs > 0) await delay(answerMs);
      return response;
    },
  };
}

async function allIdle(processes: Iterable<Pick<Composition, 'idle'>>): Promise<void> {
  await Promise.all([...processes].map((process) => process.idle()));
}

/** Real time, but the wait until the leases of other processes have ended is over at once: there are none. */
const REAL_TIME: Scheduler = {
  ...realScheduler,
  after: (ms, work) => realScheduler.after(ms === LEASE_END_MS ? 0 : ms, work),
};

function subscriberOf(settings: ComposeSettings): CountingNamespace['subscribe'] {
  const dependencies = composeDependencies(settings);
  const rules = new DynamoRuleStore(dependencies);
  const description = newSubscription({ lockMs: LOCK_MS });
  return async (path) => {
    const now = dependencies.clock.now();
    const subscription = { key: path.toLowerCase(), name: path, description };
    await rules.createSubscription(subscription, { ...firstRule(undefined), createdAt: now }, now);
  };
}

/** Makes every request take at least `addedMs`. */
function addLatency(client: DynamoDBClient, addedMs: () => number): void {
  client.middlewareStack.add(
    (next) => async (input) => {
      const [answer] = await Promise.allSettled([next(input), delay(addedMs())]);
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    },
    { step: 'finalizeRequest', name: 'addLatency' },
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

/** The cost of calls for each of their messages. */
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

/** Returns `count` bodies; repeats them if there are fewer. */
export function cycle(bodies: readonly Buffer[], count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, i) => bodies[i % bodies.length] ?? Buffer.alloc(0));
}
