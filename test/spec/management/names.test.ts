import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';

test('N4 N5 names may begin and end with an underscore, as frameworks derive them from types: orders.item[]', async (t) => {
  const broker = await startBroker(t);
  for (const name of ['orders.item__', '_orders', '_', 'a/_b_/c_']) {
    expectStatus(await broker.createQueue(name), 201);
    expectStatus(await broker.send(name, 'hello'), 201);
    assert.equal((await broker.receiveAndDelete(name))?.body, 'hello', name);
  }
  expectStatus(await broker.putEntity('events__', 'TopicDescription', {}), 201);
  for (const name of ['_all', 'all_', '_']) {
    const path = `events__/subscriptions/${name}`;
    expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  }
});

test('N4 N5 names do not begin with a period or a hyphen, and only those of queues and topics end with a hyphen', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.putEntity('topic', 'TopicDescription', {}), 201);
  for (const name of ['-a', '.a', 'a.', '-']) {
    const answer = await broker.createQueue(name);
    expectStatus(answer, 400);
    assert.match(answer.text, /SubCode=40000\. The name '.+' is not valid/, name);
  }
  for (const name of ['-a', 'a-', '.a', 'a.']) {
    const path = `topic/subscriptions/${name}`;
    expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 400);
  }
});
