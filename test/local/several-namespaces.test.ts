import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DEFAULT_NAMESPACE } from '../../local/namespaces/key-name.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import {
  type LocalNamespaces,
  type NamespaceClient,
  startLocalNamespaces,
} from './local-namespaces.ts';
import { ENTITY_KEY, QUEUE_WITH_RULE } from './queue-with-rule.ts';

const HOUR_S = 3600;

describe('several namespaces in one local server', () => {
  let local: LocalNamespaces;
  before(async () => {
    local = await startLocalNamespaces();
  });
  after(() => local.server.stop());

  const names = async () => {
    const { json } = await local.of().control('GET', '$namespaces');
    return (json as readonly { readonly name: string }[]).map(({ name }) => name);
  };

  test('entities and messages of the same name are apart', async () => {
    const [one, two] = [local.fresh(), local.fresh()];
    await one.createQueue('orders');
    assert.equal((await two.request('GET', 'orders')).status, 404);
    await two.createQueue('orders');
    await one.send('orders', 'of one');
    assert.equal(await two.take('orders'), undefined);
    assert.equal(await one.take('orders'), 'of one');
    assert.equal((await local.of().request('GET', 'orders')).status, 404);
  });

  test('a plain rule and rule@dynabus lead to the default namespace', async () => {
    const queue = `q-${process.pid}`;
    await local.of().createQueue(queue);
    await local.of(DEFAULT_NAMESPACE.toUpperCase()).send(queue, 'by its name');
    assert.equal(await local.of().take(queue), 'by its name');
    assert.equal((await local.of().request('DELETE', queue)).status, 200);
  });

  test('the name of a namespace is case-insensitive, and its @ may be sent unencoded', async () => {
    const client = local.fresh();
    await client.createQueue('q');
    const upper = local.of(client.name?.toUpperCase());
    const Authorization = upper.token().replace('%40', '@');
    assert.match(Authorization, /@/);
    const response = await upper.request('GET', 'q', { headers: { Authorization } });
    assert.equal(response.status, 200);
  });

  test('each namespace has its own clock', async () => {
    const [one, two] = [local.fresh(), local.fresh()];
    for (const client of [one, two]) {
      await client.createQueue('q');
      await client.send('q', 'locked');
      await client.send('q', 'later', {
        ScheduledEnqueueTimeUtc: new Date(Date.now() + HOUR_S * 1000).toUTCString(),
      });
      assert.equal(await client.lock('q'), 1);
    }
    const before = await two.now();
    await one.advance(2 * HOUR_S);
    assert.equal(await one.lock('q'), 2);
    assert.equal(await one.take('q'), 'later');
    assert.equal(await two.take('q'), undefined);
    assert.ok((await two.now()) - before < 60_000);
    assert.ok((await one.now()) - before >= 2 * HOUR_S * 1000);
  });

  test('a clock is moved by the name of its namespace, without a token', async () => {
    const [one, two] = [local.fresh(), local.fresh()];
    const url = `${local.url}/$clock?namespace=${one.name}`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"advanceSeconds":3600}',
    });
    assert.equal(response.status, 200);
    assert.ok((await one.now()) - (await two.now()) > 3_000_000);
  });

  test('a rule of an entity grants its rights in its namespace only', async () => {
    const [one, two] = [local.fresh(), local.fresh()];
    const queue = `r-${process.pid}`;
    for (const client of [one, local.of()]) await client.createQueue(queue, QUEUE_WITH_RULE);
    await two.createQueue(queue);
    const own = { rule: 'listenOnly', key: ENTITY_KEY };
    const receive = (client: NamespaceClient) =>
      client.request('DELETE', `${queue}/messages/head?timeout=0`, own);
    assert.equal((await receive(local.of())).status, 204);
    assert.equal((await receive(one)).status, 204);
    assert.equal((await receive(two)).status, 401);
    const send = await one.request('POST', `${queue}/messages`, { ...own, body: 'x' });
    assert.equal(send.status, 401);
    await local.of().request('DELETE', queue);
  });

  test('a wrong key is refused, and no namespace begins', async () => {
    const stranger = local.fresh();
    const key = 'wrong';
    for (const rule of ['RootManageSharedAccessKey', 'listenOnly']) {
      for (const [method, path] of [
        ['GET', 'q'],
        ['PUT', 'q'],
        ['POST', 'q/messages'],
        ['GET', '$namespaceinfo'],
      ] as const) {
        const response = await stranger.request(method, path, {
          rule,
          key,
          headers: { 'Content-Type': 'application/atom+xml' },
          ...(method === 'GET' ? {} : { body: QUEUE_WITH_RULE }),
        });
        assert.equal(response.status, 401, `${method} ${path} by ${rule}`);
      }
    }
    assert.ok(!(await names()).includes(stranger.name ?? ''));
    await stranger.createQueue('q');
    assert.ok((await names()).includes(stranger.name ?? ''));
  });

  for (const name of ['', '-a', 'a_b', 'a'.repeat(64)]) {
    test(`the name '${name.slice(0, 10)}' is refused with a sentence`, async () => {
      const response = await local.of(name).request('GET', 'q');
      assert.equal(response.status, 401);
      assert.match(await response.text(), /names no rule of a namespace: write rule@namespace/);
      const { status, json } = await local
        .of()
        .control('POST', `$clock?namespace=${name}`, { advanceSeconds: 1 });
      assert.equal(status, 400);
      assert.match(json.error, /is not the name of a namespace, which has 1 to 63 letters/);
    });
  }

  test('the first requests of a namespace, sent at once, reach the same one', async () => {
    const client = local.fresh();
    await Promise.all(['a', 'b', 'c'].map((name) => client.createQueue(name)));
    await client.advance(HOUR_S);
    assert.ok((await client.now()) > Date.now() + 3_000_000);
    assert.equal((await names()).filter((name) => name === client.name).length, 1);
  });

  test('a deleted namespace begins anew, with its clock', async () => {
    const client = local.fresh();
    await client.createQueue('q');
    await client.send('q', 'lost');
    await client.advance(HOUR_S);
    assert.equal((await client.control('DELETE', '$namespace')).status, 204);
    assert.ok(!(await names()).includes(client.name ?? ''));
    assert.equal((await client.request('GET', 'q')).status, 404);
    assert.ok(Math.abs((await client.now()) - Date.now()) < 60_000);
    await client.createQueue('q');
    assert.equal(await client.take('q'), undefined);
  });

  test('the default namespace cannot be deleted', async () => {
    for (const path of ['$namespace', `$namespace?namespace=${DEFAULT_NAMESPACE}`]) {
      const { status, json } = await local.of().control('DELETE', path);
      assert.equal(status, 409);
      assert.equal(
        json.error,
        'The default namespace cannot be deleted. Empty it with POST /$reset.',
      );
    }
  });

  test('pages of other sites, and forms, control no namespace', async () => {
    const client = local.fresh();
    const page = { headers: { 'Sec-Fetch-Site': 'cross-site' } };
    const form = { headers: { 'Content-Type': 'text/plain' } };
    for (const [method, path] of [
      ['POST', '$reset'],
      ['PUT', '$config'],
      ['DELETE', '$namespace'],
      ['POST', '$clock'],
    ] as const) {
      const body = method === 'DELETE' ? undefined : {};
      assert.equal((await client.control(method, path, body, page)).status, 403, path);
      if (body === undefined) continue;
      assert.equal((await client.control(method, path, body, form)).status, 415, path);
    }
    assert.ok(!(await names()).includes(client.name ?? ''));
  });
});

test('with a key of its own, a server requires Manage of the namespace for its control', async (t) => {
  const local = await startLocalNamespaces({ t, rootKey: 'own-key' });
  const [one, two] = [local.fresh(), local.fresh()];
  await one.createQueue('q');
  const other = `?namespace=${one.name}`;
  for (const [method, path, body] of [
    ['POST', '$clock', { advanceSeconds: 1 }],
    ['POST', '$reset', {}],
    ['PUT', '$config', []],
    ['DELETE', '$namespace', undefined],
  ] as const) {
    const anonymous = { headers: { Authorization: '' } };
    assert.equal((await one.control(method, path, body, { key: 'x' })).status, 401, path);
    assert.equal((await one.control(method, path + other, body, anonymous)).status, 401, path);
    const { status, json } = await two.control(method, path + other, body);
    assert.equal(status, 401, path);
    assert.match(
      json.error,
      /The token is for the namespace '.+', but the request is for '.+': send/,
    );
    assert.doesNotMatch(json.error, /connection/);
    assert.ok((await one.control(method, path, body)).status < 300, path);
  }
  const list = (client: NamespaceClient) => client.control('GET', '$namespaces');
  assert.equal((await list(two)).status, 401);
  assert.equal((await list(local.of())).status, 200);
});

test('a namespace beyond the most that may run is refused, until another is deleted', async (t) => {
  const local = await startLocalNamespaces({ t });
  const clients = Array.from({ length: BUDGETS.localServer.namespaces - 1 }, () => local.fresh());
  const begin = async (client: NamespaceClient) => {
    const response = await client.request('GET', '$namespaceinfo');
    await response.text();
    return response.status;
  };
  for (const client of clients) assert.equal(await begin(client), 200);

  const late = local.fresh();
  const refused = await late.request('GET', 'q');
  assert.equal(refused.status, 403);
  assert.match(
    await refused.text(),
    /1000 namespaces run, which is the most. End .+ with stop\(\) of the test API/,
  );
  assert.equal(await begin(late), 403);
  assert.equal((await clients[0]?.control('DELETE', '$namespace'))?.status, 204);
  assert.equal(await begin(late), 200);
});
