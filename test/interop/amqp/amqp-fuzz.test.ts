import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ServiceBusClient } from '@azure/service-bus';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { isMore } from '../../runner/more.ts';
import { LoadRandom, seedOfRun } from '../../support/load-random.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { receiveOne } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { hostileConnection } from './fuzz-connection.ts';
import type { Keys } from './fuzz-conversation.ts';

/**
 * Connections with nearly valid or arbitrary input: none may end the process, affect another client, leave
 * anything behind, or cause a fault of the service.
 */

const SEED = seedOfRun();
const CONNECTIONS = Number(process.env['DYNABUS_FUZZ_CONNECTIONS'] ?? (isMore() ? 600 : 200));
const AT_ONCE = 40;
/** `npm test` checks the memory twice, too. */
const BATCH = isMore() ? 300 : 100;
/** Memory that work under way and filling caches may hold at a check. */
const GROWTH_MB_MAX = 25;
const FREE_MS_MAX = 20_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test(`${CONNECTIONS} hostile connections leave nothing behind (seed ${SEED})`, async (t) => {
  const namespace = await startNamespace();
  const client = new ServiceBusClient(namespace.connectionString);
  t.after(async () => {
    await client.close();
    await namespace.stop();
  });
  await createEntities(namespace);
  const random = new LoadRandom(SEED);
  const keys = keysOf();
  const wellBehaved = client.createSender('good');
  const receiver = client.createReceiver('good');
  const heaps: number[] = [];
  let idle = 0;
  const startedAt = performance.now();
  for (let done = 0; done < CONNECTIONS; done += BATCH) {
    await hostileBatch(random, namespace.port, keys, Math.min(BATCH, CONNECTIONS - done));
    await wellBehaved.sendMessages({ body: `after ${done}` });
    const message = await receiveOne(receiver);
    assert.equal(message.body, `after ${done}`);
    await receiver.completeMessage(message);
    // The first batch creates what is created once: pools, caches, compiled code.
    if (done === 0) idle = await untilFree(Number.POSITIVE_INFINITY);
    else if (done % (20 * BATCH) === 0) await untilFree(idle);
    heaps.push(heapMegabytes());
    assert.deepEqual(namespace.faults.map(String), [], 'faults of ours');
  }
  await untilFree(idle);
  heaps.push(heapMegabytes());
  report(t, heaps, performance.now() - startedAt);
  const [first = 0] = heaps;
  assert.ok((heaps.at(-1) ?? 0) - first < GROWTH_MB_MAX, `heap, MB: ${heaps.join(' ')}`);
});

async function hostileBatch(
  random: LoadRandom,
  port: number,
  keys: Keys,
  count: number,
): Promise<void> {
  let left = count;
  // Each has its own seed, whatever the order in which they end.
  const work = async () => {
    while (left-- > 0) {
      await hostileConnection(new LoadRandom(String(random.next())), port, keys);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Waits until there are no more sockets and timers than before; returns how many there are. */
async function untilFree(max: number): Promise<number> {
  const deadline = performance.now() + FREE_MS_MAX;
  let count = resources();
  let before = Number.POSITIVE_INFINITY;
  while (count > max || count < before) {
    assert.ok(performance.now() < deadline, `${count} resources stay, not ${max}`);
    before = count;
    await new Promise((resolve) => setTimeout(resolve, 250));
    count = resources();
  }
  return count;
}

function resources(): number {
  const kinds = ['Timeout', 'TCPSocketWrap', 'TLSWrap'];
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind)).length;
}

function heapMegabytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return Math.round((heapUsed + external) / 1e5) / 10;
}

function report(t: TestContext, heaps: readonly number[], ms: number): void {
  const shown = heaps.filter((_, i) => i % Math.ceil(heaps.length / 20) === 0);
  t.diagnostic(`${CONNECTIONS} connections in ${(ms / 1000).toFixed(1)} s`);
  t.diagnostic(`heap after garbage collection, MB: ${[...shown, heaps.at(-1)].join(' ')}`);
  t.diagnostic(`resident: ${Math.round(process.memoryUsage().rss / 1e6)} MB`);
}

async function createEntities({ connectionString }: TestNamespace): Promise<void> {
  const admin = administrationOf(connectionString);
  await admin.createQueue('good');
  await admin.createQueue('q', { lockDuration: 'PT5S' });
  await admin.createQueue('s', { requiresSession: true, lockDuration: 'PT5S' });
  await admin.createTopic('t');
  await admin.createSubscription('t', 'x');
}

function keysOf(): Keys {
  const user = 'RootManageSharedAccessKey';
  const expiresAt = Date.now() + 24 * 3_600_000;
  const token = createSasToken({ audience: 'localhost', keyName: user, key: ROOT_KEY, expiresAt });
  return { user, password: ROOT_KEY, token };
}
