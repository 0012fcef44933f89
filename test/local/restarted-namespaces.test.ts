import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNamespaceCli, temporaryDirectory } from './cli.ts';
import { NamespaceClient } from './local-namespaces.ts';
import { ENTITY_KEY, QUEUE_WITH_RULE } from './queue-with-rule.ts';

test('namespaces survive a restart with --data, and a rule of an entity finds its one again', async (t) => {
  const args = ['--engine', 'dynoxide', '--data', temporaryDirectory(t)];
  const first = await startNamespaceCli(t, { args });
  const before = new NamespaceClient(first.url, 'kept');
  await before.createQueue('q', QUEUE_WITH_RULE);
  await before.send('q', 'kept');
  first.child.kill('SIGTERM');
  assert.equal(await first.ended, 0);

  const second = await startNamespaceCli(t, { args });
  const own = { rule: 'listenOnly', key: ENTITY_KEY };
  const client = new NamespaceClient(second.url, 'kept');
  const take = (key: string) =>
    client.request('DELETE', 'q/messages/head?timeout=0', { ...own, key });
  assert.equal((await take('x'.repeat(44))).status, 401);
  assert.deepEqual(await names(second.url), ['dynabus']);
  const taken = await take(ENTITY_KEY);
  assert.deepEqual([taken.status, await taken.text()], [200, 'kept']);
  assert.deepEqual(await names(second.url), ['dynabus', 'kept']);
});

test('a server with namespaces, waiting receives and a deletion under way stops in order', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const clients = ['one', 'two', 'three'].map((name) => new NamespaceClient(cli.url, name));
  for (const client of clients) await client.createQueue('q');
  const waiting = clients.map((client) =>
    client.request('DELETE', 'q/messages/head?timeout=60').then(({ status }) => status),
  );
  assert.equal((await clients[2]?.control('DELETE', '$namespace'))?.status, 204);
  cli.child.kill('SIGTERM');
  assert.equal(await cli.ended, 0);
  assert.deepEqual((await Promise.all(waiting)).slice(0, 2), [204, 204]);
  assert.equal(cli.errors(), '');
});

async function names(url: string): Promise<readonly string[]> {
  const { json } = await new NamespaceClient(url, undefined).control('GET', '$namespaces');
  return (json as readonly { readonly name: string }[]).map(({ name }) => name);
}
