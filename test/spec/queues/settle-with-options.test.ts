import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { bodies, DEAD, lock, settlementOf } from './queue.ts';

async function startQueue(t: TestContext, ...sent: readonly string[]): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  for (const body of sent) expectStatus(await broker.send('q', body), 201);
  return broker;
}

test('a message that is abandoned with a delay is delivered again when the delay ends', async (t) => {
  const broker = await startQueue(t, 'late', 'next');
  const [outcome] = await broker.settle('q', [
    settlementOf(await lock(broker), 'abandon', { delaySeconds: 90 }),
  ]);
  assert.equal(outcome?.settled, true);
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'next');
  broker.clock.advance({ seconds: 90, ms: -1 });
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ ms: 1 });
  const message = await lock(broker);
  assert.deepEqual([message.body, message.broker.DeliveryCount], ['late', 2]);
});

test('#12 properties that an abandon changes come with the next delivery', async (t) => {
  const broker = await startQueue(t);
  const UserProperties = { kept: 'as it was', changed: 1 };
  expectStatus(await broker.sendBatch('q', [{ Body: 'a', UserProperties }]), 201);
  for (const [count, properties] of [
    [1, { changed: 2, added: true }],
    [2, { added: 'other', Größe: null }],
  ] as const) {
    const message = await lock(broker);
    assert.equal(message.broker.DeliveryCount, count);
    const [outcome] = await broker.settle('q', [settlementOf(message, 'abandon', { properties })]);
    assert.equal(outcome?.settled, true);
  }
  const [message] = await broker.peekLockMany('q', 2);
  assert.deepEqual(message?.properties, {
    kept: 'as it was',
    changed: 2,
    added: 'other',
    Größe: null,
  });
  assert.deepEqual([message?.broker.DeliveryCount, message?.broker.SequenceNumber], [3, 1]);
});

test('#12 an abandon changes the properties of no other message of the batch', async (t) => {
  const broker = await startQueue(t);
  const UserProperties = { kept: 'as it was', changed: 1 };
  expectStatus(await broker.sendBatch('q', [{ Body: 'a', UserProperties }, { Body: 'b' }]), 201);
  const change = { properties: { changed: 2, added: true } };
  const first = await lock(broker);
  await broker.settle('q', [settlementOf(first, 'abandon', change)]);
  const received = await broker.receiveAndDeleteMany('q', 2);
  const a = received.find(({ body }) => body === 'a');
  const b = received.find(({ body }) => body === 'b');
  assert.deepEqual(a?.properties, { kept: 'as it was', changed: 2, added: true });
  assert.deepEqual([a?.broker.DeliveryCount, b?.broker.DeliveryCount], [2, 1]);
  assert.deepEqual([a?.broker.SequenceNumber, a?.broker.MessageId], [1, first.broker.MessageId]);
  assert.deepEqual(b?.properties, {});
});

test('#9 #12 a message that is abandoned with changed properties is redelivered before later ones', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', [{ Body: 'a' }, { Body: 'b' }]), 201);
  expectStatus(await broker.send('q', 'c'), 201);
  await broker.settle('q', [
    settlementOf(await lock(broker), 'abandon', { properties: { tries: 1 } }),
  ]);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 3)), ['a', 'b', 'c']);
});

test('#67 receives skip a deferred message and deliver later ones', async (t) => {
  const broker = await startQueue(t, 'a', 'b');
  await broker.settle('q', [settlementOf(await lock(broker), 'defer')]);
  broker.clock.advance({ days: 1 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['b']);
});

test('#25 #35 #B12 a dead-lettered message has the reason, and keeps its DeliveryCount and sequence number', async (t) => {
  const broker = await startQueue(t, 'a', 'b');
  const options = { deadLetterReason: 'Malformed', deadLetterErrorDescription: 'no "id", 7 ä' };
  await broker.settle('q', [settlementOf(await lock(broker), 'deadLetter', options)]);
  const dead = await lock(broker, DEAD);
  assert.equal(dead.body, 'a');
  assert.deepEqual([dead.broker.DeliveryCount, dead.broker.SequenceNumber], [1, 1]);
  assert.equal(dead.properties['deadletterreason'], '"Malformed"');
  assert.equal(dead.properties['deadlettererrordescription'], '"no \\"id\\", 7 \\u00e4"');
});

test('#26 a message that is dead-lettered without a reason has none', async (t) => {
  const broker = await startQueue(t, 'a');
  await broker.settle('q', [settlementOf(await lock(broker), 'deadLetter')]);
  const dead = await lock(broker, DEAD);
  assert.deepEqual(
    Object.keys(dead.properties).filter((name) => name.startsWith('deadletter')),
    [],
  );
});

test('#27 a dead letter cannot be dead-lettered again, and stays', async (t) => {
  const broker = await startQueue(t, 'a');
  await broker.settle('q', [settlementOf(await lock(broker), 'deadLetter')]);
  const dead = await lock(broker, DEAD);
  const [outcome] = await broker.settle(DEAD, [settlementOf(dead, 'deadLetter')]);
  assert.equal(outcome?.error?.code, 'InvalidOperation');
  assert.equal(await broker.complete(dead), 200);
});
