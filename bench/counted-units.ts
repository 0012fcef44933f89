import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { compose } from '../lambdas/http/compose.ts';
import { createDynamoClient } from '../local/dynamo-client.ts';
import { startServer } from '../local/server.ts';
import { ensureTables } from '../local/tables.ts';
import { UnitMeter, type Units } from '../shared/storage/unit-meter.ts';
import { type BodySet, intoCalls } from './bodies.ts';
import { BenchClient, prepareSend } from './http-client.ts';

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
/**
 * So far away is the engine made to seem, that what runs side by side ends side by side. Calls for
 * many messages make many requests at once, which come back farther apart.
 */
const ENGINE_DISTANCE_MS = { single: 30, batch: 150 } as const;
/** Batches that are sent, received and settled for one row. */
const ROUNDS = 4;

/** A namespace whose requests to the engine are counted, behind real HTTP. */
export interface CountingNamespace {
  count(set: BodySet, batch: number): Promise<Costs>;
  stop(): Promise<void>;
}

type Counted = <T>(call: () => Promise<T>) => Promise<{ answer: T; cost: OperationCost }>;

interface Served {
  /** Done up to the moment at which the answer left. */
  readonly answered: Units;
}

/** Starts the namespace in this process, over the engine at an endpoint. */
export async function startCounting(endpoint: string): Promise<CountingNamespace> {
  const client = createDynamoClient(endpoint);
  await ensureTables(client, TABLES);
  let distanceMs: number = ENGINE_DISTANCE_MS.single;
  keepDistance(client, () => distanceMs);
  const meter = new UnitMeter();
  const composition = compose({
    client,
    tables: TABLES,
    namespace: `bench-${randomBytes(6).toString('hex')}`,
    clock: { now: () => Date.now() },
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    soleProcess: true,
    receiveWaitMsMax: 0,
    meter,
  });
  const served: Served[] = [];
  const app = {
    fetch: async (request: Request) => {
      const response = await composition.app.fetch(request);
      served.push({ answered: meter.take() });
      return response;
    },
  };
  const server = await startServer({ app, host: '127.0.0.1', port: 0 });
  const http = new BenchClient(server.url, ROOT_KEY, 1);
  /** Does one call, and tells what it cost, with what was left to do behind the answer. */
  const counted: Counted = async (call) => {
    await composition.idle();
    meter.take();
    served.length = 0;
    const answer = await call();
    await composition.idle();
    return { answer, cost: costOf(served, meter.take()) };
  };
  return {
    count: (set, batch) => {
      distanceMs = ENGINE_DISTANCE_MS[batch === 1 ? 'single' : 'batch'];
      return countRow(http, counted, set, batch);
    },
    stop: async () => {
      http.close();
      await server.close();
      await composition.close();
      client.destroy();
    },
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

async function countRow(
  http: BenchClient,
  counted: Counted,
  { bodies, isReal, messageKilobytesMax }: BodySet,
  batch: number,
): Promise<Costs> {
  const queue = `q-${randomBytes(6).toString('hex')}`;
  await http.createQueue(queue, messageKilobytesMax);
  // Reads the queue's description, which a function does every other second and not for each call.
  await http.receive(queue, batch);
  // Real bodies differ, so all of them count; of made ones a few tell enough.
  const rounds = isReal ? Number.POSITIVE_INFINITY : ROUNDS;
  const chosen = cycle(bodies, Math.max(batch, Math.min(bodies.length, rounds * batch)));
  const costs: Record<Operation, OperationCost[]> = { send: [], receive: [], settle: [] };
  for (const call of intoCalls(chosen, batch)) {
    const prepared = prepareSend(call, batch > 1);
    costs.send.push((await counted(() => http.send(queue, prepared))).cost);
  }
  for (let left = chosen.length; left > 0; ) {
    const { answer, cost } = await counted(() => http.receive(queue, batch));
    const { locks, firstBody } = answer;
    if (!bodies.some((body) => body.equals(firstBody))) throw new Error('Another body came out.');
    costs.receive.push(cost);
    costs.settle.push((await counted(() => http.complete(queue, locks))).cost);
    left -= locks.length;
  }
  await http.deleteQueue(queue);
  return {
    send: perMessage(costs.send, chosen.length),
    receive: perMessage(costs.receive, chosen.length),
    settle: perMessage(costs.settle, chosen.length),
  };
}

function perMessage(calls: readonly OperationCost[], messages: number): OperationCost {
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
