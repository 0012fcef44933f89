import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceBusClient } from '@azure/service-bus';
import { composeDirect } from '../../connect/direct/open-direct.ts';
import { openHttps } from '../../connect/https/open-https.ts';
import { webSocketOf } from '../../connect/in-process/web-socket.ts';
import type { Upstream } from '../../connect/upstream.ts';
import { startEngine } from '../../local/engine/engine.ts';
import { countPatterns, type PatternCosts } from '../amqp/patterns.ts';
import { type BodySet, standardBodies } from '../bodies.ts';
import { type CountingNamespace, type OperationCost, startCounting } from '../counted-units.ts';

/** The transports of docs/connect.md. */
export const TRANSPORTS = ['direct', 'https'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** What a message costs over one transport. */
export interface ConnectRow {
  readonly transport: Transport;
  readonly body: string;
  readonly costs: PatternCosts;
}

/** What receivers that wait on an empty queue cost a minute. */
export interface ConnectIdle {
  readonly transport: Transport;
  readonly receivers: number;
  readonly cost: OperationCost;
}

/** The results of this section. */
export interface ConnectSection {
  readonly rows: readonly ConnectRow[];
  readonly idle: readonly ConnectIdle[];
}

/** What a request to a function takes beyond the work for it, ms: the network, API Gateway and Lambda. */
export const HTTPS_MS = 30;
const SIZES = ['200 B', '1 KB'];
const RECEIVERS = [1, 10] as const;
const MINUTE_MS = 60_000;
/** How long receivers wait before they are counted, and while they are: they look more seldom the longer they wait. */
const IDLE_MS = {
  full: { settle: 80_000, counted: 60_000 },
  quick: { settle: 12_000, counted: 12_000 },
} as const;

/** Counts the units and requests of the official client in the process of its AMQP surface. */
export async function measureConnect(
  kind: string | undefined,
  isQuick: boolean,
): Promise<ConnectSection> {
  const engine = await startEngine({ kind });
  try {
    const rows: ConnectRow[] = [];
    const idle: ConnectIdle[] = [];
    for (const transport of TRANSPORTS) {
      const answerMs = transport === 'https' ? HTTPS_MS : 0;
      const counting = await startCounting(engine.endpoint, { time: 'real', answerMs });
      for (const set of standardBodies().filter(({ name }) => SIZES.includes(name))) {
        console.log(`Counting ${set.name} over ${transport}`);
        rows.push({
          transport,
          body: set.name,
          costs: await countMessages(counting, transport, set),
        });
      }
      for (const receivers of RECEIVERS) {
        console.log(`${receivers} idle receivers over ${transport}`);
        const cost = await countIdle(counting, transport, receivers, isQuick);
        idle.push({ transport, receivers, cost });
      }
      await counting.stop();
    }
    return { rows, idle };
  } finally {
    await engine.stop();
  }
}

/** Works with a client on a queue of its own. */
async function withClient<Result>(
  counting: CountingNamespace,
  transport: Transport,
  work: (client: ServiceBusClient, queue: string) => Promise<Result>,
): Promise<Result> {
  const queue = `q-${randomBytes(6).toString('hex')}`;
  await counting.http.createQueue(queue, undefined);
  const { connectionString, settings } = counting;
  const upstream: Upstream =
    transport === 'direct' ? composeDirect(settings) : openHttps({ connectionString });
  const leave = counting.join(upstream);
  const webSocket = webSocketOf(upstream);
  const client = new ServiceBusClient(connectionString, { webSocketOptions: { webSocket } });
  const result = await work(client, queue);
  await client.close();
  await webSocket.close();
  leave();
  await counting.http.deleteQueue(queue);
  return result;
}

function countMessages(
  counting: CountingNamespace,
  transport: Transport,
  set: BodySet,
): Promise<PatternCosts> {
  return withClient(counting, transport, (client, queue) =>
    countPatterns(counting, client, queue, set),
  );
}

async function countIdle(
  counting: CountingNamespace,
  transport: Transport,
  receivers: number,
  isQuick: boolean,
): Promise<OperationCost> {
  const ms = IDLE_MS[isQuick ? 'quick' : 'full'];
  return await withClient(counting, transport, async (client, queue) => {
    for (let i = 0; i < receivers; i++) {
      client.createReceiver(queue).subscribe({
        processMessage: async () => {},
        processError: async ({ error }) => {
          throw error;
        },
      });
    }
    await delay(ms.settle);
    const { cost } = await counting.counted(() => delay(ms.counted));
    const perMinute = MINUTE_MS / ms.counted;
    return {
      write: cost.write * perMinute,
      read: cost.read * perMinute,
      requests: cost.requests * perMinute,
      httpRequests: cost.httpRequests * perMinute,
      roundTrips: cost.roundTrips,
    };
  });
}
