import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { DEAD, lock } from './queue.ts';

async function startQueue(
  t: TestContext,
  settings: Record<string, string>,
  sent: readonly string[] = ['x'],
): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S', ...settings }), 201);
  expectStatus(
    await broker.sendBatch(
      'q',
      sent.map((Body) => ({ Body })),
    ),
    201,
  );
  return broker;
}

for (const [settings, deliveries] of [
  [{ MaxDeliveryCount: '1' }, 1],
  [{ MaxDeliveryCount: '3' }, 3],
  [{}, 10],
] as const) {
  const named = `a MaxDeliveryCount of ${deliveries}`;

  test(`#22 #23 #C7 ${named} allows exactly that many abandoned deliveries`, async (t) => {
    const broker = await startQueue(t, settings);
    for (let count = 1; count <= deliveries; count++) {
      const message = await lock(broker);
      assert.equal(message.broker.DeliveryCount, count);
      assert.equal(await broker.peekLock(DEAD), undefined);
      assert.equal(await broker.abandon(message), 200);
    }
    assert.equal(await broker.peekLock('q'), undefined);
    const dead = await lock(broker, DEAD);
    assert.equal(dead.body, 'x');
    assert.equal(dead.broker.DeliveryCount, deliveries + 1);
    assert.equal(dead.properties['deadletterreason'], '"MaxDeliveryCountExceeded"');
    assert.equal(
      dead.properties['deadlettererrordescription'],
      `"Message could not be consumed after ${deliveries} delivery attempts."`,
    );
  });

  test(`#24 #B9 ${named} allows exactly that many expired locks`, async (t) => {
    const broker = await startQueue(t, settings);
    for (let count = 1; count <= deliveries; count++) {
      assert.equal((await lock(broker)).broker.DeliveryCount, count);
      broker.clock.advance({ seconds: 30 });
    }
    assert.equal(await broker.peekLock('q'), undefined);
    const dead = await lock(broker, DEAD);
    assert.equal(dead.broker.DeliveryCount, deliveries + 1);
    assert.equal(dead.properties['deadletterreason'], '"MaxDeliveryCountExceeded"');
  });
}

test('the message of the last allowed delivery can still be completed', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '2' });
  assert.equal(await broker.abandon(await lock(broker)), 200);
  const last = await lock(broker);
  assert.equal((await broker.renew(last)).status, 200);
  assert.equal(await broker.complete(last), 200);
  assert.equal(await broker.peekLock(DEAD), undefined);
});

test('#21 #35 a dead-lettered message keeps its MessageId, SequenceNumber and EnqueuedTimeUtc', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1' }, ['a', 'b', 'c']);
  await lock(broker);
  const second = await lock(broker);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.abandon(second), 200);
  const dead = await lock(broker, DEAD);
  for (const key of ['MessageId', 'SequenceNumber', 'EnqueuedTimeUtc'] as const) {
    assert.equal(dead.broker[key], second.broker[key]);
  }
});

test('only those messages of a batch are dead-lettered that reached MaxDeliveryCount', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '2' }, ['a', 'b', 'c', 'd']);
  const [a, b] = [await lock(broker), await lock(broker)];
  assert.equal(await broker.abandon(a), 200);
  assert.equal(await broker.abandon(b), 200);
  const again = await lock(broker);
  assert.equal(again.body, 'a');
  assert.equal(await broker.abandon(again), 200);
  const rest = await broker.receiveAndDeleteMany('q', 10);
  assert.deepEqual(
    rest.map(({ body, broker: { DeliveryCount } }) => [body, DeliveryCount]),
    [
      ['b', 2],
      ['c', 1],
      ['d', 1],
    ],
  );
  assert.equal((await lock(broker, DEAD)).body, 'a');
  assert.equal(await broker.peekLock(DEAD), undefined);
});

test('100 messages that reached MaxDeliveryCount all arrive in the dead-letter queue', async (t) => {
  const sent = Array.from({ length: 100 }, (_, i) => `${i}`);
  const broker = await startQueue(t, { MaxDeliveryCount: '1' }, sent);
  const locked = await broker.peekLockMany('q', 100);
  const settlements = locked.map(({ broker: { LockToken } }) => ({
    lockToken: LockToken,
    outcome: 'abandon' as const,
  }));
  assert.ok((await broker.settle('q', settlements)).every(({ settled }) => settled));
  assert.deepEqual(await broker.peekLockMany('q', 100), []);
  assert.deepEqual(
    (await broker.receiveAndDeleteMany(DEAD, 1000)).map(({ body }) => body),
    sent,
  );
});

test('#28 MaxDeliveryCount does not apply in the dead-letter queue', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '2' });
  for (let i = 0; i < 2; i++) assert.equal(await broker.abandon(await lock(broker)), 200);
  for (let i = 0; i < 4; i++) {
    const dead = await lock(broker, DEAD);
    assert.equal(dead.broker.DeliveryCount, 3);
    assert.equal(await broker.abandon(dead), 200);
  }
  await lock(broker, DEAD);
  broker.clock.advance({ seconds: 30 });
  const dead = await lock(broker, DEAD);
  assert.equal(dead.broker.DeliveryCount, 3);
  assert.equal(await broker.complete(dead), 200);
  assert.equal(await broker.peekLock(DEAD), undefined);
});

test('a MaxDeliveryCount that is raised before the last delivery allows further deliveries', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '2' });
  assert.equal(await broker.abandon(await lock(broker)), 200);
  const raised = { LockDuration: 'PT30S', MaxDeliveryCount: '3' };
  expectStatus(await broker.updateQueue('q', raised), 200);
  for (const count of [2, 3]) {
    const message = await lock(broker);
    assert.equal(message.broker.DeliveryCount, count);
    assert.equal(await broker.abandon(message), 200);
  }
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await lock(broker, DEAD)).broker.DeliveryCount, 4);
});
