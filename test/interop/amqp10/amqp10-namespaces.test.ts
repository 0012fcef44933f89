import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startLocalNamespaces } from '../../local/local-namespaces.ts';
import { ENTITY_KEY, QUEUE_WITH_RULE } from '../../local/queue-with-rule.ts';
import { connect, Inbox, url } from './amqp10-client.ts';

/** SASL PLAIN with the name of a rule that leads to a namespace of its own. */

test('the name and key of a rule lead generic clients to its namespace', async (t) => {
  const local = await startLocalNamespaces({ t });
  const [one, two] = [local.fresh(), local.fresh()];
  for (const namespace of [one, two]) await namespace.createQueue('q');
  const client = await connected(t, url(local.port, one.ruleName()));
  await (await client.createSender('q')).send('for one');
  const inbox = await Inbox.open(client, 'q');
  assert.equal((await inbox.next()).message.body, 'for one');
  assert.equal(await two.take('q'), undefined);
});

test('a rule of an entity of a namespace receives', async (t) => {
  const local = await startLocalNamespaces({ t });
  const namespace = local.fresh();
  await namespace.createQueue('q', QUEUE_WITH_RULE);
  await namespace.send('q', 'for the listener');
  const client = await connected(t, url(local.port, namespace.ruleName('listenOnly'), ENTITY_KEY));
  const inbox = await Inbox.open(client, 'q');
  assert.equal(String((await inbox.next()).message.body), 'for the listener');
});

async function connected(t: TestContext, address: string) {
  const client = await connect(address);
  t.after(() => client.disconnect());
  return client;
}
