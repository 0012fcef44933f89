import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NAMESPACE } from '../../lambdas/http/atom/namespaces.ts';
import { ROUTES } from '../../lambdas/http/routing/route-table.ts';
import { entry, startAtom } from '../support/atom-client.ts';
import { startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';

/** A name as one segment of a path, so that no client shortens it. */
const encoded = (name: string): string => name.replaceAll('/', '%2F');

const create = (broker: TestBroker, path: string, kind = 'Queue') =>
  broker.putEntity(path, `${kind}Description`, {});

test('row 20: names with a dot segment, which URLs drop, are refused', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('b');
  for (const name of ['a/../b', 'a/./b', 'a/b/../../b', 'A/../B', 'v1/./x/y']) {
    for (const kind of ['Queue', 'Topic']) {
      const { status, text } = await create(broker, encoded(name), kind);
      assert.equal(status, 400, name);
      assert.match(
        text,
        /SubCode=40000\. The name '.*' is not valid: the segment '\.\.?' disappears/,
      );
    }
  }
});

test('row 20: names that are encoded twice, or hold invalid characters, are refused', async (t) => {
  const broker = await startBroker(t);
  const paths = ['a%252F..%252Fb', 'a%2F%252e%252e%2Fb', '%252e', 'a%5C..%5Cb', 'a%5Cb', 'a%00b'];
  const more = ['a%0A', 'a%0D%0Ab', 'a%7Fb', 'a%2F%2Fb', '.a', 'a.', '%2E%2E%2Fa', 'a%E2%80%AEb'];
  for (const path of [...paths, ...more, 'a%EF%BF%BDb', 'a%ED%A0%80b', 'a%FFb', 'a%3Fb', 'a%23b']) {
    assert.equal((await create(broker, path)).status, 400, path);
  }
});

test('row 20: a new entity cannot have the address of a route', async (t) => {
  const broker = await startBroker(t);
  const addresses = ROUTES.filter(({ kind }) => kind !== 'management').map(({ path }) => path);
  const filled = addresses.map((path) => path.slice(1).replace('{entity}', 'q'));
  const own = new Set(filled.map((path) => path.replaceAll(/\{\w+\}/g, '1')));
  for (const path of [...own, '$clock', '$cbs', '$management', '$servicebus/websocket']) {
    for (const name of [path, path.toUpperCase()]) {
      const { status } = await create(broker, encoded(name));
      assert.ok([400, 405].includes(status), `${name}: ${status}`);
    }
  }
  const { text } = await broker.request('GET', '$Resources/Queues');
  assert.doesNotMatch(text, /<entry/);
});

test('row 20: a queue named like the health check is refused, and the error gives the reason', async (t) => {
  const broker = await startBroker(t);
  for (const [name, kind] of [
    ['health', 'Queue'],
    ['Health', 'Topic'],
  ] as const) {
    const { status, text } = await create(broker, name, kind);
    assert.equal(status, 400);
    assert.match(text, /'[Hh]ealth' is not valid: it is an address of the service itself/);
  }
  assert.equal(
    (await broker.request('GET', 'health')).json<{ status: string }>().status,
    'healthy',
  );
});

test('row 20: entities with every name that the service allows can be reached', async (t) => {
  const broker = await startBroker(t);
  const names = [
    'a.b',
    'v1.0/orders',
    'a..b',
    'a/.b/c',
    'a/b./c',
    'a/.../b',
    'health/x',
    'x/health',
  ];
  for (const name of [...names, 'healthy', 'messages', 'sessions', 'rules', 'a/rules', '1']) {
    assert.equal((await broker.createQueue(name)).status, 201, name);
    await broker.send(name, 'text');
    const { location } = await locked(broker, name);
    assert.ok(location.startsWith(`${broker.api.url}/${name}/messages/`), location);
    assert.equal((await broker.request('DELETE', location)).status, 200, name);
    assert.equal((await broker.request('DELETE', name)).status, 200, name);
  }
});

test('row 20: a rule name of dots is refused, for the default rule and for others', async (t) => {
  const broker = await startBroker(t);
  await create(broker, 't', 'Topic');
  for (const name of ['.', '..']) {
    const rule = `<DefaultRuleDescription><Filter xmlns:i="${NAMESPACE.instance}" i:type="TrueFilter"/><Name>${name}</Name></DefaultRuleDescription>`;
    const first = await broker.request('PUT', 't/Subscriptions/s', {
      body: entry('SubscriptionDescription', rule),
    });
    assert.match(first.text, /the segment '\.\.?' disappears from addresses/);
  }
  assert.equal((await create(broker, 't/Subscriptions/s', 'Subscription')).status, 201);
  const body = entry('RuleDescription', '<Filter i:type="TrueFilter"/>');
  for (const name of ['.', '..']) {
    const path = `t/Subscriptions/s/Rules%2F${name}`;
    assert.equal((await broker.request('PUT', path, { body })).status, 400, name);
  }
  for (const name of ['a.b', '-x_', '...']) {
    const path = `t/Subscriptions/s/Rules/${name}`;
    assert.equal((await broker.request('PUT', path, { body })).status, 201, name);
  }
});

test('row 20: an existing entity with such a name can be shown, changed and deleted', async () => {
  const { dependencies, call } = startAtom();
  const { description } = await dependencies.management.create('b', { kind: 'queue' });
  for (const name of ['a/../b', 'health']) {
    await dependencies.entities.create(name, name, description, 0);
    const path = `/${encoded(name)}`;
    const body = entry('QueueDescription', '<MaxDeliveryCount>3</MaxDeliveryCount>');
    assert.equal((await call('PUT', path, { body, ifMatch: '*' })).status, 200, name);
    assert.equal((await call('DELETE', path)).status, 200, name);
    // A GET of /health reads the health of the service.
    assert.equal(await dependencies.entities.find(name), undefined, name);
  }
  assert.equal((await call('GET', '/b')).status, 200);
});

async function locked(broker: TestBroker, name: string): Promise<{ readonly location: string }> {
  const answer = await broker.request('POST', `${name}/messages/head`);
  assert.equal(answer.status, 201);
  return { location: answer.headers.get('location') ?? '' };
}
