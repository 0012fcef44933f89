import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrationOf } from '../administration/admin-clients.ts';
import { connectInProcess, startOverHttp } from './over-http.ts';

/** Entities that are deleted and made anew with other settings, while a process knows the old ones. */

test('a queue that was made anew with sessions takes receivers of sessions soon', async (t) => {
  const over = await startOverHttp(t);
  const { queue, namespace, time } = over;
  const client = connectInProcess(t, over);
  const sender = client.createSender(queue);
  await sender.sendMessages({ body: 'old' });
  await client.createReceiver(queue).receiveMessages(1);
  const administration = administrationOf(namespace.connectionString);
  await administration.deleteQueue(queue);
  await administration.createQueue(queue, { requiresSession: true });
  await sender.sendMessages({ body: 'new', sessionId: 'a' });
  time.skip(5_000);
  const session = await client.acceptSession(queue, 'a');
  const [message] = await session.receiveMessages(1);
  assert.equal(message?.body, 'new');
});

test('a queue that was made anew with partitions takes sends with ids after one refusal', async (t) => {
  const over = await startOverHttp(t, { sendsOnce: true });
  const { queue, namespace } = over;
  const sender = connectInProcess(t, over).createSender(queue);
  await sender.sendMessages({ body: 'old' });
  const administration = administrationOf(namespace.connectionString);
  await administration.deleteQueue(queue);
  await administration.createQueue(queue, { enablePartitioning: true });
  await assert.rejects(sender.sendMessages({ body: 'refused' }), /must have a SessionId/);
  await sender.sendMessages({ body: 'new' });
});
