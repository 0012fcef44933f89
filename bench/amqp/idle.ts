import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { CountingNamespace } from '../counted-units.ts';

/** What receivers that wait on empty queues cost a minute, once they have waited for some time. */
export interface AmqpIdle extends IdlePlan {
  /** Requests to the database. */
  readonly requests: number;
  /** Read units. */
  readonly read: number;
  /** The share of one processor that this process uses, in percent. */
  readonly cpu: number;
}

/** How many receivers wait, on how many queues. */
export interface IdlePlan {
  readonly receivers: number;
  readonly queues: number;
  readonly linksPerConnection: number;
}

const PLANS: readonly IdlePlan[] = [
  { receivers: 1, queues: 1, linksPerConnection: 1 },
  { receivers: 2000, queues: 200, linksPerConnection: 20 },
];
const CLIENTS = fileURLToPath(new URL('idle-clients.ts', import.meta.url));
const MINUTE_MS = 60_000;

/** Lets receivers of another process wait for `settleMs`, and then counts for `ms`. */
export async function measureIdle(
  counting: CountingNamespace,
  times: { readonly settleMs: number; readonly ms: number },
): Promise<readonly AmqpIdle[]> {
  counting.setAddedLatency('none');
  const rows: AmqpIdle[] = [];
  for (const plan of PLANS) rows.push(await measurePlan(counting, plan, times));
  return rows;
}

async function measurePlan(
  { http, port, rootKey, counted }: CountingNamespace,
  plan: IdlePlan,
  { settleMs, ms }: { readonly settleMs: number; readonly ms: number },
): Promise<AmqpIdle> {
  const queues = Array.from({ length: plan.queues }, (_, i) => `idle-${i}`);
  for (const queue of queues) await http.createQueue(queue, undefined);
  const clients = fork(CLIENTS, [JSON.stringify({ ...plan, port, key: rootKey })]);
  await once(clients, 'message');
  await delay(settleMs);
  const before = process.cpuUsage();
  const { cost } = await counted(() => delay(ms));
  const { user, system } = process.cpuUsage(before);
  const ended = once(clients, 'exit');
  clients.kill();
  await ended;
  for (const queue of queues) await http.deleteQueue(queue);
  const perMinute = MINUTE_MS / ms;
  return {
    ...plan,
    requests: cost.requests * perMinute,
    read: cost.read * perMinute,
    cpu: ((user + system) / 1000 / ms) * 100,
  };
}
