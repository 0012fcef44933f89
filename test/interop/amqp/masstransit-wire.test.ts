import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { binary, described, mapOf, symbol, timestamp } from '../../../amqp/wire/value.ts';
import { COORDINATOR, inTransaction, RawSession, targetOf } from '../../support/raw-session.ts';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

describe('what MassTransit asks for', () => {
  let namespace: TestNamespace;
  let client: ServiceBusClient;
  let admin: AdministrationClient;
  before(async () => {
    namespace = await startNamespace();
    client = new ServiceBusClient(namespace.connectionString);
    admin = administrationOf(namespace.connectionString);
  });
  after(async () => {
    await client.close();
    await namespace.stop();
  });

  test('topics of generic types have names that end with hyphens (semantics N4)', async () => {
    const topic = `MassTransit/Fault--Orders/${newName('fault')}--`;
    const queue = newName('faults');
    await admin.createQueue(queue);
    await admin.createTopic(topic);
    assert.equal((await admin.getTopic(topic)).name, topic);
    await admin.createSubscription(topic, 'faults', { forwardTo: queue });
    await client.createSender(topic).sendMessages({ body: 'a fault' });
    const [received] = await client.createReceiver(queue).receiveMessages(1);
    assert.equal(received?.body, 'a fault');
    await admin.deleteTopic(topic);
    assert.equal(await admin.topicExists(topic), false);
  });

  test('an event that is scheduled at a topic is in the queue of its subscriber when it is due (semantics #63)', async () => {
    const [topic, queue] = [newName('events'), newName('subscriber')];
    await admin.createQueue(queue);
    await admin.createTopic(topic);
    await admin.createSubscription(topic, queue, { forwardTo: queue });
    const receiver = client.createReceiver(queue);
    const received = receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
    const due = new Date(Date.now() + 500);
    await client.createSender(topic).scheduleMessages({ body: 'an event' }, due);
    assert.deepEqual(
      (await received).map(({ body }) => body),
      ['an event'],
    );
    assert.ok(Date.now() >= due.getTime());
  });

  test('so is what a transaction schedules at a queue that forwards', async () => {
    const [outbox, queue] = [newName('outbox'), newName('subscriber')];
    await admin.createQueue(queue);
    await admin.createQueue(outbox, { forwardTo: queue });
    const receiver = client.createReceiver(queue);
    const received = receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
    const session = RawSession.root(namespace.port);
    const coordinator = await session.sender(COORDINATOR);
    const id = await session.declare(coordinator);
    const link = await session.sender(targetOf(outbox));
    const later = writeSections({
      annotations: mapOf({ 'x-opt-scheduled-enqueue-time': timestamp(Date.now() + 500) }, symbol),
      body: [described(SECTION.data, binary(Buffer.from('later')))],
    });
    await session.send(link, later, { state: inTransaction(id) });
    await session.discharge(coordinator, id, false);
    assert.deepEqual(
      (await received).map(({ body }) => String(body)),
      ['later'],
    );
    session.raw.destroy();
  });
});
