import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { paginateScan, QueryCommand } from '@aws-sdk/client-dynamodb';
import { Namespaces } from '../../local/namespaces/namespaces.ts';
import { LOCAL_TABLES } from '../../local/tables.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { processResources } from '../../shared/app/namespace-settings.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { documentClientOf } from '../../shared/storage/dynamodb/document-table.ts';
import { tombstonesCollection } from '../../shared/storage/schema/entity-keys.ts';
import { engineClient, ROOT_KEY } from '../support/start-broker.ts';
import { type NamespaceClient, startLocalNamespaces } from './local-namespaces.ts';

const POLL_MS = 25;
const LOOKS_MAX = 400;

test('visits of namespaces that do not run are bounded, and leave nothing behind', async (t) => {
  const namespaces = namespacesOf(t);
  const visits = Array.from({ length: BUDGETS.localServer.namespacesVisited }, (_, i) =>
    namespaces.enter(`v${i}`),
  );
  assert.throws(() => namespaces.enter('more'), { code: 'ServiceBusy' });
  assert.equal(namespaces.enter('v0').namespace, visits[0]?.namespace);
  assert.equal(namespaces.enter('dynabus').namespace, namespaces.own);
  for (const { end } of visits.slice(1)) end();
  assert.notEqual(namespaces.enter('v1').namespace, visits[1]?.namespace);
  assert.deepEqual([...namespaces.running], [namespaces.own]);
});

test('a namespace whose owner is gone before its first request is done does not begin', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const namespaces = namespacesOf(t);
  const visit = namespaces.enter('visited');
  const refusal = {
    code: 'InvalidOperation',
    message: /the process that had started it has ended/,
  };
  for (const name of ['visited', 'unknown']) void namespaces.remove(name);
  for (const { namespace } of [visit, namespaces.enter('visited'), namespaces.enter('unknown')]) {
    assert.throws(() => namespaces.keep(namespace), refusal);
  }
  assert.deepEqual([...namespaces.running], [namespaces.own]);

  t.mock.timers.tick(60_000);
  namespaces.keep(visit.namespace);
  assert.deepEqual([...namespaces.running], [namespaces.own, visit.namespace]);
});

test('the default namespace goes on although its name is removed', async (t) => {
  const namespaces = namespacesOf(t);
  await assert.rejects(namespaces.remove('dynabus'), { code: 'InvalidOperation' });
  namespaces.keep(namespaces.own);
});

test('only the newest removed names are remembered', (t) => {
  const namespaces = namespacesOf(t);
  for (let i = 0; i <= BUDGETS.localServer.namespacesCondemned; i++) {
    void namespaces.remove(`r${i}`);
  }
  namespaces.keep(namespaces.enter('r0').namespace);
  assert.throws(() => namespaces.keep(namespaces.enter('r1000').namespace), {
    code: 'InvalidOperation',
  });
});

test('namespaces that are being deleted do not count among those that run', async (t) => {
  // It makes the tables.
  await startLocalNamespaces({ t });
  const namespaces = namespacesOf(t);
  const begin = (name: string) => {
    const visit = namespaces.enter(name);
    namespaces.keep(visit.namespace);
    visit.end();
    return visit.namespace;
  };
  const ending = begin('ending');
  for (let i = 2; i < BUDGETS.localServer.namespaces; i++) {
    begin(`n${i}`);
    // Each looks for what waits; a thousand looks at once would occupy the engine of all tests.
    if (i % 50 === 0) await namespaces.idle();
  }
  assert.throws(() => begin('late'), { code: 'QuotaExceeded', message: /stop\(\)/ });

  const deleted = namespaces.delete(ending);
  while (!ending.isDeleted) await null;
  begin('late');
  assert.ok([...namespaces.running].includes(ending));
  assert.throws(() => begin('later'), { code: 'QuotaExceeded' });
  await deleted;
});

test('a deleted namespace leaves no messages in storage', async (t) => {
  const local = await startLocalNamespaces({ t });
  const namespace = local.fresh();
  const { status } = await namespace.control('PUT', '$config', [
    ['q', { kind: 'queue' }],
    ['topic', { kind: 'topic' }],
    ['topic/subscriptions/s', { kind: 'subscription' }],
  ]);
  assert.equal(status, 200);
  const mark = `${namespace.name}-${'x'.repeat(50)}`;
  for (const path of ['q', 'topic']) await namespace.send(path, mark, { Label: mark });
  const items = itemsOf(t, namespace);
  assert.ok((await items()).some((item) => item.includes(mark)));
  assert.equal((await namespace.control('DELETE', '$namespace')).status, 204);
  // One look after the other: scans that overlap would occupy the engine of all tests.
  let left = await items();
  for (
    let looks = 1;
    left.some((item) => item.includes(mark) || item.includes('/graves'));
    looks++
  ) {
    assert.ok(looks < LOOKS_MAX, left.join('\n'));
    await delay(POLL_MS);
    left = await items();
  }
  assert.ok(left.length <= 4, left.join('\n'));
  assert.deepEqual(local.faults, []);
});

test('a namespace that begins while the remains of its predecessor are removed loses nothing', async (t) => {
  const local = await startLocalNamespaces({ t });
  const namespace = local.fresh();
  const queues = Array.from({ length: 20 }, (_, i) => [`q${i}`, { kind: 'queue' }]);
  assert.equal((await namespace.control('PUT', '$config', queues)).status, 200);
  for (const [path] of queues) await namespace.send(String(path), 'before');
  await namespace.advance(3600);
  assert.equal((await namespace.control('DELETE', '$namespace')).status, 204);
  const next = [
    ['idle', { kind: 'queue', autoDeleteOnIdleMs: 5 * 60_000 }],
    ['scheduled', { kind: 'queue' }],
    ['q0', { kind: 'queue' }],
  ];
  assert.equal((await namespace.control('PUT', '$config', next)).status, 200);
  const later = new Date(Date.now() + 8 * 60_000).toUTCString();
  await namespace.send('scheduled', 'later', { ScheduledEnqueueTimeUtc: later });
  await namespace.send('q0', 'after');
  await untilNoTombstones(t, namespace);
  assert.equal((await namespace.request('GET', 'idle')).status, 200);
  assert.equal(await namespace.take('scheduled'), undefined);
  assert.equal(await namespace.take('q0'), 'after');
  await namespace.advance(8 * 60);
  assert.equal(await namespace.take('scheduled'), 'later');
  assert.equal((await namespace.request('GET', 'idle')).status, 404, 'its own clock still counts');
  assert.deepEqual(local.faults, []);
});

/** Namespaces over the engine of the test run. */
function namespacesOf(t: TestContext): Namespaces {
  const client = engineClient();
  const namespaces = new Namespaces({
    client,
    documentClient: documentClientOf(client),
    tables: LOCAL_TABLES,
    process: processResources(),
    tier: 'Standard',
    leaseMs: LEASE_MS.local,
    rootKey: ROOT_KEY,
    warn: assert.fail,
    reportError: assert.ifError,
  });
  t.after(async () => {
    await namespaces.close();
    await namespaces.idle();
    client.destroy();
  });
  return namespaces;
}

/** Resolves when a namespace has no tombstones in storage, one look after the other. */
async function untilNoTombstones(t: TestContext, { name = '' }: NamespaceClient): Promise<void> {
  const engine = engineClient();
  t.after(() => engine.destroy());
  const query = new QueryCommand({
    TableName: LOCAL_TABLES.entities,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: tombstonesCollection(name) } },
  });
  for (let looks = 0; ((await engine.send(query)).Count ?? 0) > 0; looks++) {
    assert.ok(looks < LOOKS_MAX, 'the remains are not removed');
    await delay(POLL_MS);
  }
}

/** Reads all stored items that name a namespace, as texts. */
function itemsOf(t: TestContext, { name = '' }: NamespaceClient): () => Promise<string[]> {
  const engine = engineClient();
  t.after(() => engine.destroy());
  return async () => {
    const found: string[] = [];
    for (const TableName of Object.values(LOCAL_TABLES)) {
      for await (const { Items = [] } of paginateScan({ client: engine }, { TableName })) {
        found.push(...Items.map(textOf).filter((item) => item.includes(name)));
      }
    }
    return found;
  };
}

/** An item as text; bytes as the characters that they are. */
function textOf(item: object): string {
  return JSON.stringify(item, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
  );
}
