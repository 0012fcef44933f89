import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { elementsOf, fieldsOf, list, mapOf, NULL, str, symbol } from '../../../amqp/wire/value.ts';
import { RawSession, sessionSource, sourceOf } from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const NON_EXCLUSIVE = 'com.microsoft:non-exclusive-session-filter';

describe('sessions of the .NET client', () => {
  let namespace: TestNamespace;
  let client: ServiceBusClient;
  let queue: string;
  before(async () => {
    namespace = await startNamespace();
    client = new ServiceBusClient(namespace.connectionString);
    queue = newName('sessions');
    await administrationOf(namespace.connectionString).createQueue(queue, {
      requiresSession: true,
    });
  });
  after(async () => {
    await client.close();
    await namespace.stop();
  });

  test('a session that the client has left is free for its next link, also before the answer', async () => {
    await client.createSender(queue).sendMessages({ body: 'hello', sessionId: 'S' });
    const first = RawSession.root(namespace.port);
    const { raw } = first;
    await first.receiver(sessionSource(queue, str('S')));
    for (let channel = 1; channel <= 5; channel++) {
      // The client closes link and session without waiting for the answers.
      raw.say({ kind: 'detach', handle: 0, closed: true }, channel - 1);
      raw.say({ kind: 'end' }, channel - 1);
      raw.begin(channel);
      const filter = channel % 2 === 0 ? str('S') : NULL;
      const { source } = await new RawSession(raw, channel).receiver(sessionSource(queue, filter));
      const filters = source?.type === 'described' ? elementsOf(source.value)[7] : undefined;
      assert.deepEqual(fieldsOf(filters).get('com.microsoft:session-filter'), str('S'));
    }
    raw.destroy();
  });

  test('S12 a plain receiver peeks at all sessions in order, page by page, but receives nothing', async () => {
    const own = newName('peeked');
    await administrationOf(namespace.connectionString).createQueue(own, { requiresSession: true });
    const sender = client.createSender(own);
    for (const [i, sessionId] of ['B', 'A', 'B', 'C'].entries()) {
      await sender.sendMessages({ body: i, sessionId });
    }
    const at = new Date(Date.now() + 3_600_000);
    await sender.scheduleMessages({ body: 4, sessionId: 'D' }, at);
    const plain = client.createReceiver(own);
    const found = [];
    for (;;) {
      const page = await plain.peekMessages(2);
      if (page.length === 0) break;
      found.push(...page.map(({ body, sessionId }) => `${body} ${sessionId}`));
    }
    assert.deepEqual(found, ['0 B', '1 A', '2 B', '3 C', '4 D']);
    await assert.rejects(plain.receiveMessages(1), /non-sessionful message receiver/);
  });

  test('a session that may be shared is refused in words that the client takes for "not supported"', async () => {
    const session = RawSession.root(namespace.port);
    const filters = mapOf({ [NON_EXCLUSIVE]: list([str('S'), NULL]) }, symbol);
    const name = `${queue};a 'quoted' name`;
    const source = sourceOf(queue, ...Array(6).fill(NULL), filters);
    assert.equal((await session.receiver(source, { name })).source, undefined);
    const { error } = await session.raw.hear('detach');
    assert.equal(error?.condition, 'amqp:not-allowed');
    assert.match(
      error?.description ?? '',
      /^The link '.*' contains invalid filter type\. System only support Jms or Apache selector filter type\.[^']*$/s,
    );
    session.raw.destroy();
  });
});
