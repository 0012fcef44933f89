import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  instant,
  lock,
  lockAndSettle,
  messageOf,
  numbers,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

test('#C1 a new queue has an empty dead-letter queue', async (t) => {
  const broker = await startQueue(t);
  assert.equal(await broker.peekLock(DEAD), undefined);
  assert.deepEqual(await broker.peek(DEAD), []);
});

for (const method of ['PUT', 'DELETE']) {
  for (const path of [DEAD, 'q/$DeadLetterQueue', 'nosuch/$deadletterqueue']) {
    test(`#32 #C1 ${method} of ${path} is refused: a dead-letter queue is created and deleted with its queue`, async (t) => {
      const broker = await startQueue(t, {}, 'a');
      await lockAndSettle(broker, 'deadLetter');
      const { status } =
        method === 'PUT'
          ? await broker.putEntity(path, 'QueueDescription', {})
          : await broker.request('DELETE', path);
      assert.ok(status >= 400 && status < 500, `${status}`);
      assert.deepEqual(bodies(await broker.peek(DEAD)), ['a']);
    });
  }
}

test('#C1 a dead-letter queue is not in the list of queues, and has no description of its own', async (t) => {
  const broker = await startQueue(t);
  const { text } = await broker.request('GET', '$Resources/Queues');
  assert.match(text, /<title[^>]*>q</);
  assert.doesNotMatch(text, /deadletter[^c-z]*queue</i);
  assert.notEqual((await broker.request('GET', DEAD)).status, 200);
});

test('#160 deleting a queue deletes its dead letters', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'deadLetter');
  expectStatus(await broker.request('DELETE', 'q'), 200);
  expectStatus(await broker.createQueue('q'), 201);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.equal(await broker.peekLock(DEAD), undefined);
});

test('#33 #C14 every spelling of the path reaches the same dead-letter queue', async (t) => {
  const paths = ['q/$deadletterqueue', 'q/$DeadLetterQueue', 'Q/$DEADLETTERQUEUE'];
  const broker = await startQueue(t, {}, ...paths);
  for (const path of paths) {
    await lockAndSettle(broker, 'deadLetter');
    assert.equal((await broker.peek(path)).length, 1);
    assert.ok(await broker.receiveAndDelete(path));
  }
});

for (const name of ['$deadletterqueue', '$DeadLetterQueue']) {
  test(`#31 #C3 a send or a schedule to q/${name} is refused, and stores no message`, async (t) => {
    const broker = await startQueue(t);
    assert.equal((await broker.send(`q/${name}`, 'a')).status, 400);
    const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
    assert.equal((await broker.send(`q/${name}`, 'a', at)).status, 400);
    const answer = await broker.post(`q/${name}`, '$schedule', [messageOf('a', at)]);
    assert.equal(answer.status, 400);
    broker.clock.advance({ minutes: 1 });
    assert.deepEqual(await broker.peek(DEAD), []);
  });
}

test('#25 #35 #C6 #C11 #B12 a dead-lettered message has reason and description, and keeps its other properties', async (t) => {
  const broker = await startQueue(t);
  const BrokerProperties = { MessageId: 'm', Label: 'l', CorrelationId: 'c', TimeToLive: 600 };
  const UserProperties = { mine: 'kept', DeadLetterReason: 'an older one' };
  await sendTogether(broker, ['before', { Body: 'a', BrokerProperties, UserProperties }]);
  assert.ok(await broker.receiveAndDelete('q'));
  broker.clock.advance({ seconds: 5 });
  await lockAndSettle(broker, 'deadLetter', {
    deadLetterReason: 'Malformed',
    deadLetterErrorDescription: 'no id',
    properties: { mine: 'changed', seen: true },
  });
  const [dead] = await broker.peekLockMany(DEAD, 2);
  assert.equal(dead?.body, 'a');
  assert.deepEqual(dead.properties, {
    mine: 'changed',
    seen: true,
    DeadLetterReason: 'Malformed',
    DeadLetterErrorDescription: 'no id',
  });
  const { MessageId, Label, CorrelationId, SequenceNumber, DeliveryCount } = dead.broker;
  assert.deepEqual(
    [MessageId, Label, CorrelationId, SequenceNumber, DeliveryCount],
    ['m', 'l', 'c', 2, 1],
  );
  assert.equal(dead.broker.EnqueuedTimeUtc, instant({ seconds: 0 }));
});

test('#26 a message that is dead-lettered without reason and description has neither', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'deadLetter', { properties: { mine: 1 } });
  assert.deepEqual((await broker.peek(DEAD))[0]?.properties, { mine: 1 });
});

test('#25 reason and description may be 4,096 characters long, and no longer', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const message = await lock(broker);
  const long = 'x'.repeat(4096);
  for (const name of ['deadLetterReason', 'deadLetterErrorDescription']) {
    const settlements = [settlementOf(message, 'deadLetter', { [name]: `${long}x` })];
    assert.equal((await broker.post('q', '$settle', { settlements })).status, 400);
  }
  const options = { deadLetterReason: long, deadLetterErrorDescription: long };
  await settleOne(broker, message, 'deadLetter', options);
  assert.deepEqual(await deadLetters(broker), [['a', long, long]]);
});

test('#C4 #B6 messages of a dead-letter queue are peek-locked, abandoned, renewed and completed', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' }, 'a', 'b');
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter');
  const a = await lock(broker, DEAD);
  const b = await lock(broker, DEAD);
  assert.deepEqual([a.body, b.body], ['a', 'b']);
  assert.equal(await broker.peekLock(DEAD), undefined);
  assert.equal(await broker.abandon(a), 200);
  broker.clock.advance({ seconds: 20 });
  expectStatus(await broker.renew(b), 200);
  broker.clock.advance({ seconds: 20 });
  const again = await lock(broker, DEAD);
  assert.deepEqual([again.body, again.broker.DeliveryCount], ['a', 1]);
  assert.equal(await broker.complete(b), 200);
  assert.equal(await broker.complete(again), 200);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#C2 dead letters can be received and deleted', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter');
  assert.equal((await broker.receiveAndDelete(DEAD))?.body, 'a');
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 10)), ['b']);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#27 #C3 a dead letter cannot be dead-lettered again, and stays locked', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'deadLetter', { deadLetterReason: 'first' });
  const dead = await lock(broker, DEAD);
  const [outcome] = await broker.settle(DEAD, [
    settlementOf(dead, 'deadLetter', { deadLetterReason: 'second' }),
  ]);
  assert.deepEqual([outcome?.settled, outcome?.error?.code], [false, 'InvalidOperation']);
  assert.equal(await broker.complete(dead), 200);
});

test('#27 #C3 an operator cannot dead-letter a dead letter either', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'deadLetter');
  const answer = await broker.post(DEAD, '$deadLetter', { sequenceNumbers: [1] });
  assert.equal(answer.status, 400);
  assert.deepEqual(numbers(await broker.peek(DEAD)), [1]);
});

test('#28 #C7 deliveries are neither counted nor limited in a dead-letter queue', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1', LockDuration: 'PT30S' }, 'a');
  assert.equal(await broker.abandon(await lock(broker)), 200);
  for (let i = 0; i < 3; i++) {
    const dead = await lock(broker, DEAD);
    assert.equal(dead.broker.DeliveryCount, 2);
    assert.equal((await broker.peek(DEAD))[0]?.broker.DeliveryCount, 1);
    if (i % 2 === 0) assert.equal(await broker.abandon(dead), 200);
    else broker.clock.advance({ seconds: 30 });
  }
});

test('#29 #30 #C3 #C5 dead letters do not expire', async (t) => {
  const settings = { DefaultMessageTimeToLive: 'PT1M', DeadLetteringOnMessageExpiration: 'true' };
  const broker = await startQueue(t, settings, 'relying');
  expectStatus(await broker.send('q', 'own', { TimeToLive: 30 }), 201);
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter');
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ days: 365 });
    await broker.sweep();
  }
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['relying', 'own']);
  const dead = await lock(broker, DEAD);
  assert.equal(dead.body, 'relying');
  assert.equal(await broker.abandon(dead), 200);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 10)), ['relying', 'own']);
});

test('#36 a dead letter can be deferred, and is then received by its sequence number from the dead-letter queue', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter');
  await lockAndSettle(broker, 'defer', { properties: { later: true } }, DEAD);
  assert.equal((await broker.receiveAndDelete(DEAD))?.body, 'b');
  assert.equal(await broker.peekLock(DEAD), undefined);
  assert.equal((await broker.receiveDeferredRaw('q', [1])).status, 404);
  const [dead] = await broker.receiveDeferred(DEAD, [1]);
  assert.deepEqual([dead?.body, dead?.properties['later']], ['a', true]);
  assert.ok(dead);
  await settleOne(broker, dead, 'complete', {}, DEAD);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#75 a dead-lettered message no longer appears in receives, peeks and counts of its queue', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  await lockAndSettle(broker, 'deadLetter');
  assert.deepEqual(bodies(await broker.peek('q')), ['b']);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['a']);
  const { active, deadLetter, total } = await broker.runtimeProperties('q');
  assert.deepEqual([active, deadLetter, total], [1, 1, 2]);
});

test('dead letters are delivered in order of their sequence numbers, not of their dead-lettering', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, ['a', 'b', 'c', 'd']);
  const [a, b, c, d] = await broker.peekLockMany('q', 4);
  assert.ok(a && b && c && d);
  for (const message of [d, b]) await settleOne(broker, message, 'deadLetter');
  await broker.settle('q', [settlementOf(c, 'deadLetter'), settlementOf(a, 'deadLetter')]);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['a', 'b', 'c', 'd']);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 10)), ['a', 'b', 'c', 'd']);
});

test('a lock token of the main queue settles nothing in the dead-letter queue, and vice versa', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  await lockAndSettle(broker, 'deadLetter');
  const [dead, main] = [await lock(broker, DEAD), await lock(broker)];
  const [there] = await broker.settle(DEAD, [settlementOf(main, 'complete')]);
  const [here] = await broker.settle('q', [settlementOf(dead, 'complete')]);
  assert.deepEqual([there?.settled, here?.settled], [false, false]);
  assert.deepEqual([await broker.complete(dead), await broker.complete(main)], [200, 200]);
});
