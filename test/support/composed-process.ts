import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type ComposeSettings, compose } from '../../lambdas/http/compose.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import type { ReceiveOptions } from '../../shared/broker/broker.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import { ManualClock } from './manual-clock.ts';
import { engineClient, ROOT_KEY, TABLES, tablesExist } from './start-broker.ts';
import { VirtualTime } from './virtual-time.ts';

/** The path of the queue of these tests. */
export const Q = parseEntityPath('q');

/** A composed process whose broker a test calls without HTTP or AMQP, so that it says when calls are made. */
export async function startProcess(t: TestContext, settings: Partial<ComposeSettings> = {}) {
  await tablesExist();
  const client = settings.client ?? engineClient();
  if (settings.client === undefined) t.after(() => client.destroy());
  const clock = settings.clock ?? new ManualClock();
  const namespace = settings.namespace ?? `test-${randomBytes(6).toString('hex')}`;
  const composition = compose({
    tables: TABLES,
    tier: 'Premium',
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: 60_000,
    scheduler: new VirtualTime(),
    ...settings,
    client,
    clock,
    namespace,
  });
  t.after(() => composition.close());
  const { broker } = composition.dependencies;
  const { management, idle } = composition;
  return { broker, management, idle, clock, namespace };
}

/** A message to send. */
export function message(text: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { body: Buffer.from(text), properties: {}, ...more };
}

/** A receive of one message under a lock, without a wait. */
export function ask(more: Partial<ReceiveOptions> = {}): ReceiveOptions {
  return { mode: 'peekLock', maxMessages: 1, waitMs: 0, ...more };
}

/** Lets a number of turns of the event loop pass. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Far longer than the 100 ms after which a stalled group no longer holds up the next one. */
const PATIENCE_MS = 20_000;

/** Lets turns of the event loop pass until a condition holds, or for a long time; returns whether it holds. */
export async function comesTrue(condition: () => boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (!condition() && performance.now() < end) await turns(10);
  return condition();
}
