import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  lock,
  lockAndSettle,
  sendTogether,
  settleOne,
  startQueue,
} from './queue.ts';

const withMaxDelivery = (count: number) => ({
  MaxDeliveryCount: String(count),
  LockDuration: 'PT30S',
});

const exceeded = (body: string, count: number) => [
  body,
  'MaxDeliveryCountExceeded',
  `Message could not be consumed after ${count} delivery attempts.`,
];

test('#22 #B9 #C6 #C7 the third abandon of three dead-letters the message, with the documented reason and description', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(3), 'a');
  for (let i = 0; i < 2; i++) assert.equal(await broker.abandon(await lock(broker)), 200);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.equal(await broker.abandon(await lock(broker)), 200);
  assert.deepEqual(await broker.peek('q'), []);
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 3)]);
});

test('#23 #C7 the default MaxDeliveryCount is ten: the tenth abandon dead-letters the message', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  for (let i = 1; i <= 10; i++) {
    const message = await lock(broker);
    assert.equal(message.broker.DeliveryCount, i);
    assert.equal(await broker.abandon(message), 200);
  }
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 10)]);
  assert.equal((await broker.peek(DEAD))[0]?.broker.DeliveryCount, 10);
});

test('#24 with a MaxDeliveryCount of 1, the next receive dead-letters a message whose lock expired', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(1), 'a', 'b');
  await lock(broker);
  broker.clock.advance({ seconds: 30, ms: -1 });
  assert.equal((await lock(broker)).body, 'b');
  assert.deepEqual(await broker.peek(DEAD), []);
  broker.clock.advance({ ms: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 1)]);
});

test('#24 a receiver of the dead-letter queue gets a message whose last lock expired, after a sweep', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(1), 'a');
  await lock(broker);
  broker.clock.advance({ seconds: 30 });
  await broker.sweep();
  assert.equal((await lock(broker, DEAD)).body, 'a');
});

test('#24 a message whose last lock expired counts as a dead letter after a sweep', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(1), 'a');
  await lock(broker);
  broker.clock.advance({ seconds: 30 });
  await broker.sweep();
  const { active, deadLetter } = await broker.runtimeProperties('q');
  assert.deepEqual([active, deadLetter], [0, 1]);
});

test('#22 abandons and expired locks count as deliveries, and renewals do not', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(3), 'a');
  assert.equal(await broker.abandon(await lock(broker)), 200);
  const second = await lock(broker);
  for (let i = 0; i < 5; i++) {
    broker.clock.advance({ seconds: 20 });
    expectStatus(await broker.renew(second), 200);
  }
  broker.clock.advance({ seconds: 30 });
  const third = await lock(broker);
  assert.equal(third.broker.DeliveryCount, 3);
  assert.equal(await broker.abandon(third), 200);
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 3)]);
});

test('#22 an abandon with a delay or with properties counts as a delivery', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(3), 'a');
  await lockAndSettle(broker, 'abandon', { properties: { first: 1 } });
  await lockAndSettle(broker, 'abandon', { delaySeconds: 5 });
  broker.clock.advance({ seconds: 5 });
  await lockAndSettle(broker, 'abandon', { properties: { third: 3 } });
  assert.equal(await broker.peekLock('q'), undefined);
  const [dead] = await broker.peek(DEAD);
  assert.deepEqual(dead?.properties, {
    first: 1,
    third: 3,
    DeadLetterReason: 'MaxDeliveryCountExceeded',
    DeadLetterErrorDescription: 'Message could not be consumed after 3 delivery attempts.',
  });
});

test('an abandon with a delay of the last allowed delivery dead-letters at once, without the delay', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(1), 'a');
  await lockAndSettle(broker, 'abandon', { delaySeconds: 3600 });
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 1)]);
});

test('#22 a peek does not raise the DeliveryCount, and a receive-and-delete shows the first delivery', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(1), 'a');
  for (let i = 0; i < 3; i++) {
    assert.equal((await broker.peek('q'))[0]?.broker.DeliveryCount, 0);
  }
  const message = await broker.receiveAndDelete('q');
  assert.deepEqual([message?.body, message?.broker.DeliveryCount], ['a', 1]);
});

test('a lock that an update of the queue ended counts as a delivery', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(2), 'a');
  await lock(broker);
  expectStatus(await broker.updateQueue('q', withMaxDelivery(2)), 200);
  assert.equal(await broker.abandon(await lock(broker)), 200);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 2)]);
});

test('after MaxDeliveryCount is lowered below the DeliveryCount of a message, the next receive dead-letters it', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(5), 'a', 'b');
  for (let i = 0; i < 2; i++) assert.equal(await broker.abandon(await lock(broker)), 200);
  expectStatus(await broker.updateQueue('q', withMaxDelivery(2)), 200);
  assert.equal((await lock(broker)).body, 'b');
  assert.deepEqual(await deadLetters(broker), [exceeded('a', 2)]);
});

test('#22 the messages of a batch whose locks all expired are dead-lettered in order', async (t) => {
  const broker = await startQueue(t, withMaxDelivery(1));
  const sent = Array.from({ length: 100 }, (_, i) => `${i}`);
  await sendTogether(broker, sent);
  assert.equal((await broker.peekLockMany('q', 100)).length, 100);
  broker.clock.advance({ seconds: 30 });
  while ((await broker.peek('q')).length > 0) {
    assert.deepEqual(await broker.peekLockMany('q', 100), []);
  }
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 200)), sent);
});

for (const value of ['0', '-1', '1.5']) {
  test(`#39 #C7 a MaxDeliveryCount of ${value} is refused, on creation and on update`, async (t) => {
    const broker = await startQueue(t);
    assert.equal((await broker.createQueue('other', { MaxDeliveryCount: value })).status, 400);
    assert.equal((await broker.updateQueue('q', { MaxDeliveryCount: value })).status, 400);
  });
}

test('#39 #C7 a very large MaxDeliveryCount is accepted in place of no limit', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '2147483647' }, 'a');
  for (let i = 0; i < 12; i++) assert.equal(await broker.abandon(await lock(broker)), 200);
  const message = await lock(broker);
  assert.equal(message.broker.DeliveryCount, 13);
  await settleOne(broker, message, 'complete');
});
