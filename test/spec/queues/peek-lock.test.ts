import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { bodies, lock } from './queue.ts';

async function startQueue(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', settings), 201);
  return broker;
}

async function send(broker: TestBroker, ...bodies: readonly string[]): Promise<void> {
  for (const body of bodies) expectStatus(await broker.send('q', body), 201);
}

const at = (message: Received) => Date.parse(message.broker.LockedUntilUtc);

test('#3 #B7 other receivers do not get a locked message, but the next one', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'first', 'second');
  assert.equal((await lock(broker)).body, 'first');
  assert.equal((await lock(broker)).body, 'second');
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#3 a receive with timeout=0 gets nothing while the only message is locked', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'only');
  await lock(broker);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await broker.peekLockMany('q', 10), []);
  assert.equal(await broker.receiveAndDelete('q'), undefined);
});

test('#15 #C13 a receive with timeout=0 from an empty queue answers 204 at once', async (t) => {
  const broker = await startQueue(t);
  const answer = await broker.request('POST', 'q/messages/head?timeout=0');
  assert.deepEqual([answer.status, answer.text], [204, '']);
});

test('#19 a receive of up to ten messages returns the three in the queue, without waiting for more', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'a', 'b', 'c');
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10, 60)), ['a', 'b', 'c']);
});

test('#6 #10 #11 DeliveryCount shows 1, 2, 3 … and each delivery has its own lock token', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'again and again');
  const tokens = new Set<string>();
  for (const count of [1, 2, 3, 4]) {
    const message = await lock(broker);
    assert.equal(message.broker.DeliveryCount, count);
    tokens.add(message.broker.LockToken);
    assert.equal(await broker.abandon(message), 200);
  }
  assert.equal(tokens.size, 4);
});

test('#6 another receiver gets a message whose lock expired', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  await send(broker, 'one pallet');
  const first = await lock(broker);

  broker.clock.advance({ seconds: 30 });

  const second = await lock(broker);
  assert.equal(second.broker.DeliveryCount, 2);
  assert.notEqual(second.broker.LockToken, first.broker.LockToken);
  assert.equal(await broker.complete(first), 404);
  assert.equal(await broker.complete(second), 200);
});

test('#21 a redelivered message has the same MessageId and SequenceNumber', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  await send(broker, 'x');
  const first = await lock(broker);
  broker.clock.advance({ seconds: 31 });
  const { MessageId, SequenceNumber, EnqueuedTimeUtc } = (await lock(broker)).broker;
  assert.deepEqual(
    [MessageId, SequenceNumber, EnqueuedTimeUtc],
    [first.broker.MessageId, first.broker.SequenceNumber, first.broker.EnqueuedTimeUtc],
  );
});

test('#6 a lock holds to its last millisecond and no longer', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  await send(broker, 'x');
  await lock(broker);

  broker.clock.advance({ ms: 29_999 });
  assert.equal(await broker.peekLock('q'), undefined);

  broker.clock.advance({ ms: 1 });
  assert.equal((await lock(broker)).broker.DeliveryCount, 2);
});

test('#8 a holder can settle until the last millisecond of the lock, and not at its end', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  await send(broker, 'in time', 'too late');
  const inTime = await lock(broker);
  const tooLate = await lock(broker);
  broker.clock.advance({ ms: 29_999 });
  assert.equal(await broker.complete(inTime), 200);
  broker.clock.advance({ ms: 1 });
  assert.equal(await broker.complete(tooLate), 404);
  assert.equal(await broker.abandon(tooLate), 404);
  assert.equal((await broker.renew(tooLate)).status, 404);
  assert.equal((await lock(broker)).body, 'too late');
});

for (const [setting, seconds] of [
  ['PT5S', 5],
  ['PT45S', 45],
  ['PT5M', 300],
] as const) {
  test(`a queue with a LockDuration of ${setting} locks messages for ${seconds} seconds`, async (t) => {
    const broker = await startQueue(t, { LockDuration: setting });
    await send(broker, 'x');
    const message = await lock(broker);
    assert.equal(at(message), broker.clock.now() + seconds * 1000);
    broker.clock.advance({ seconds, ms: -1 });
    assert.equal(await broker.peekLock('q'), undefined);
    broker.clock.advance({ ms: 1 });
    await lock(broker);
  });
}

test('a queue without a LockDuration locks for one minute', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'x');
  assert.equal(at(await lock(broker)), broker.clock.now() + 60_000);
});

test('#9 #B8 an abandoned message is redelivered before later ones', async (t) => {
  const broker = await startQueue(t);
  await send(broker, '1', '2', '3');
  const first = await lock(broker);
  assert.equal(await broker.abandon(first), 200);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 3)), ['1', '2', '3']);
});

test('#9 #B8 a message whose lock expired is redelivered before later ones', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  await send(broker, '1', '2', '3', '4');
  await lock(broker);
  broker.clock.advance({ seconds: 20 });
  assert.equal((await lock(broker)).body, '2');
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['1', '3', '4']);
});

test('#9 an abandoned message of a batch is redelivered before the later ones of the batch', async (t) => {
  const broker = await startQueue(t);
  const sent = ['a', 'b', 'c', 'd', 'e'];
  expectStatus(
    await broker.sendBatch(
      'q',
      sent.map((Body) => ({ Body })),
    ),
    201,
  );
  const [a, b] = [await lock(broker), await lock(broker)];
  assert.deepEqual([a.body, b.body], ['a', 'b']);
  assert.equal(await broker.abandon(b), 200);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['b', 'c', 'd', 'e']);
});

test('messages are delivered in the order in which they were sent, singly and in batches', async (t) => {
  const broker = await startQueue(t);
  const sent: string[] = [];
  for (let round = 0; round < 4; round++) {
    const batch = Array.from({ length: 40 }, (_, i) => `${round}.${i}`);
    expectStatus(
      await broker.sendBatch(
        'q',
        batch.map((Body) => ({ Body })),
      ),
      201,
    );
    await send(broker, `${round} alone`);
    sent.push(...batch, `${round} alone`);
  }
  const received: string[] = [];
  for (const size of [1, 7, 100, 1000]) {
    received.push(...bodies(await broker.peekLockMany('q', size)));
  }
  assert.deepEqual(received, sent);
});

test('#14 #B17 an update of the queue ends the locks on its messages', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT1M' });
  await send(broker, 'x');
  const before = await lock(broker);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT1M', UserMetadata: 'new' }), 200);

  assert.equal(await broker.complete(before), 404);
  assert.equal(await broker.abandon(before), 404);
  assert.equal((await broker.renew(before)).status, 404);
  const after = await lock(broker);
  assert.equal(after.broker.DeliveryCount, 2);
  assert.equal(await broker.complete(after), 200);
});

test('#14 every update ends the locks, even if it changes no setting', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'x');
  for (const count of [1, 2, 3]) {
    const message = await lock(broker);
    assert.equal(message.broker.DeliveryCount, count);
    expectStatus(await broker.updateQueue('q'), 200);
    const [outcome] = await broker.settle('q', [
      { lockToken: message.broker.LockToken, outcome: 'complete' },
    ]);
    assert.equal(outcome?.error?.code, 'MessageLockLost');
  }
});

test('#14 a new LockDuration applies from the next lock on', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT1M' });
  await send(broker, 'x');
  await lock(broker);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT10S' }), 200);
  assert.equal(at(await lock(broker)), broker.clock.now() + 10_000);
});

test('settling other messages of its batch does not end the lock on a message', async (t) => {
  const broker = await startQueue(t);
  expectStatus(
    await broker.sendBatch(
      'q',
      ['a', 'b', 'c'].map((Body) => ({ Body })),
    ),
    201,
  );
  const [a, b, c] = [await lock(broker), await lock(broker), await lock(broker)];
  assert.equal(await broker.complete(a), 200);
  assert.equal(await broker.abandon(b), 200);
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'b');
  assert.equal((await broker.renew(c)).status, 200);
  assert.equal(await broker.complete(c), 200);
  assert.equal(await broker.receiveAndDelete('q'), undefined);
});
