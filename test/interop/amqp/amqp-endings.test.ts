import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { str } from '../../../amqp/wire/value.ts';
import { RawSession, sessionSource } from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

describe('settlements just before the end', () => {
  let namespace: TestNamespace;
  let client: ServiceBusClient;
  before(async () => {
    namespace = await startNamespace();
    client = new ServiceBusClient(namespace.connectionString);
  });
  after(async () => {
    await client.close();
    await namespace.stop();
  });

  for (const [end, kind] of [
    ['the link', 'detach'],
    ['the session', 'end'],
    ['the connection', 'close'],
  ] as const) {
    test(`a message of a session is settled although the end of ${end} follows at once`, async () => {
      const queue = newName('breath');
      const settings = { requiresSession: true, lockDuration: 'PT5M' };
      await administrationOf(namespace.connectionString).createQueue(queue, settings);
      const sessionId = 'A';
      const bodies = ['one', 'two', 'three', 'four'];
      const sender = client.createSender(queue);
      await sender.sendMessages(bodies.map((body) => ({ body, sessionId })));
      const peer = RawSession.root(namespace.port);
      const { handle } = await peer.receiver(sessionSource(queue, str(sessionId)));
      peer.credit(handle, bodies.length);
      const deliveries = [];
      for (const _ of bodies) deliveries.push(await peer.raw.hear('transfer'));
      const [first = 0, last = 0, third = 0] = deliveries.map(({ deliveryId }) => deliveryId);
      const settled = { settled: true, state: { kind: 'accepted' } } as const;
      // After a group of several settlements, the settler waits for more of them.
      peer.raw.say({ kind: 'disposition', role: 'receiver', first, last, ...settled });
      await peer.raw.hear('disposition');
      // Without waiting for the answer, as the official Python client does.
      peer.raw.say({ kind: 'disposition', role: 'receiver', first: third, ...settled });
      peer.raw.say(kind === 'detach' ? { kind, handle, closed: true } : { kind });
      await peer.raw.hear(kind);
      const again = await client.acceptNextSession(queue);
      const [left] = await again.receiveMessages(1);
      assert.equal(left?.body, 'four');
      await again.close();
      peer.raw.destroy();
    });
  }
});
