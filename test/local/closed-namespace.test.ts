import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { MovableClock } from '../../local/movable-clock.ts';
import { RunningNamespace } from '../../local/namespaces/running-namespace.ts';
import { LocalPush } from '../../local/push/local-push.ts';
import { LOCAL_TABLES } from '../../local/tables.ts';
import { BackgroundWork } from '../../shared/app/background-work.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { processResources, type WakingStores } from '../../shared/app/namespace-settings.ts';
import type { Log } from '../../shared/domain/blocks/log.ts';
import { documentClientOf } from '../../shared/storage/dynamodb/document-table.ts';
import { engineClient, ROOT_KEY } from '../support/start-broker.ts';

/** A namespace that was closed asks nothing of its engine, which stops next. */

const MAIN_LOG: Log = {
  entityKey: 'orders',
  entityId: 'e',
  headerEntityId: 'e',
  subQueue: 'main',
  partition: 0,
  generation: 0,
};

/** A namespace whose requests to the engine are answered when the test says so. */
function heldNamespace(t: TestContext) {
  const client = engineClient();
  const faults: unknown[] = [];
  const held = new EventEmitter();
  let underWay = 0;
  client.middlewareStack.add(
    () => async () => {
      underWay++;
      await once(held, 'released');
      underWay--;
      return { output: { Items: [], $metadata: {} }, response: {} };
    },
    { step: 'initialize' },
  );
  t.after(() => client.destroy());
  const namespace = new RunningNamespace(
    'closed',
    {
      client,
      documentClient: documentClientOf(client),
      tables: LOCAL_TABLES,
      process: processResources(),
      tier: 'Standard',
      leaseMs: LEASE_MS.local,
      rootKey: ROOT_KEY,
      warn: assert.fail,
      reportError: (fault) => faults.push(fault),
    },
    () => {},
  );
  return { namespace, faults, underWay: () => underWay, release: () => held.emit('released') };
}

test('a namespace is closed when the look for what waits, with which it began, has ended', async (t) => {
  const { namespace, faults, underWay, release } = heldNamespace(t);
  namespace.start();
  let isClosed = false;
  const closing = namespace.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([underWay(), isClosed], [1, false]);
  release();
  await closing;
  assert.equal(underWay(), 0);
  assert.deepEqual(faults, []);
});

test('the look for the consumers of a message that has come is background work of its namespace', async () => {
  const faults: unknown[] = [];
  const push = new LocalPush(new MovableClock(), {
    warn: assert.fail,
    reportError: (fault) => faults.push(fault),
  });
  const background = new BackgroundWork();
  const reading = new EventEmitter();
  const stores = {
    background: (work: () => Promise<void>) => background.add(work),
    entities: { find: () => once(reading, 'read').then(() => undefined) },
  } as unknown as WakingStores;
  const wakes = push.wakes(stores);
  wakes.available(MAIN_LOG, true);
  let isSettled = false;
  const settling = background.settled().then(() => {
    isSettled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isSettled, false);
  reading.emit('read');
  await settling;
  await push.close();
  wakes.available(MAIN_LOG, true);
  await background.settled();
  assert.deepEqual(faults, []);
});
