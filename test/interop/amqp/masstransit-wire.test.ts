import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
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
});
