import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, DEAD, isoInstant, lock, startQueue } from '../queues/queue.ts';
import { commit, sending, settling, transact } from './transaction.ts';

/** Transactions that send to several entities, schedule messages and send large ones. */

test('a transaction completes a message and sends to two other entities', async (t) => {
  const broker = await startQueue(t, {}, 'order');
  for (const name of ['billing', 'packing']) expectStatus(await broker.createQueue(name), 201);
  const order = await lock(broker);
  const outcomes = await commit(broker, [
    settling('complete', 'q', order),
    sending('billing', 'bill'),
    sending('Packing', 'pack', 'label'),
  ]);
  assert.deepEqual(outcomes.slice(1), [{ sequenceNumbers: [1] }, { sequenceNumbers: [1, 2] }]);
  assert.deepEqual(await broker.peek('q'), []);
  assert.deepEqual(bodies(await broker.peek('billing')), ['bill']);
  assert.deepEqual(bodies(await broker.peek('packing')), ['pack', 'label']);
});

test('messages can be scheduled in a transaction, and come due later', async (t) => {
  const broker = await startQueue(t, {}, 'now');
  const message = await lock(broker);
  const later = { BrokerProperties: { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) } };
  const [, sent] = await commit(broker, [
    settling('complete', 'q', message),
    sending('q', { Body: 'later', ...later }, 'at once', { Body: 'later too', ...later }),
  ]);
  assert.deepEqual(sent, { sequenceNumbers: [2, 3, 4] });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), ['at once']);
  broker.clock.advance({ ms: 60_000 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), ['later', 'later too']);
});

test('large messages can be sent, and abandoned or dead-lettered, in a transaction', async (t) => {
  const broker = await startQueue(t, { MaxMessageSizeInKilobytes: '1024' });
  const large = Array.from({ length: 3 }, (_, i) => `${i}`.repeat(1000) + randomText(100_000));
  await commit(broker, [sending('q', ...large)]);
  const held = await broker.peekLockMany('q', 3);
  assert.deepEqual(bodies(held), large);
  const [a, b, c] = held;
  assert.ok(a && b && c);
  await commit(broker, [
    settling('complete', 'q', a),
    settling('deadLetter', 'q', b),
    settling('abandon', 'q', c, { properties: { x: 1 } }),
  ]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), [large[2]]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 9)), [large[1]]);
});

let state = 1;
/** Text that compresses badly; the same in every run. */
function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
}

test('a refused transaction leaves no stored bodies', async (t) => {
  const broker = await startQueue(t, { MaxMessageSizeInKilobytes: '1024' }, 'a');
  expectStatus(await broker.putEntity('wide', 'TopicDescription', {}), 201);
  for (let i = 0; i < 100; i++) {
    const path = `wide/Subscriptions/s${i}`;
    expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  }
  const a = await lock(broker);
  const stored = new StoredItems(broker);
  t.after(() => stored.close());
  const before = await stored.all();
  const operations = [
    settling('complete', 'q', a),
    sending('q', randomText(90_000)),
    sending('wide', randomText(5000)),
  ];
  const answer = await transact(broker, operations);
  assert.equal(answer.status, 400, answer.text);
  await broker.units(async () => {});
  assert.equal((await stored.all()).length, before.length);
  assert.equal(await broker.complete(a), 200);
});
