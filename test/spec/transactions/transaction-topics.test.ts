import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { bodies, isoInstant, lock, startQueue } from '../queues/queue.ts';
import { commit, requireRefused, sending, settling } from './transaction.ts';

/** Transactions with topics, subscriptions and forwarding. */

const ALL = 'topic/Subscriptions/all';
const RED = 'topic/Subscriptions/red';

async function startTopic(
  t: Parameters<typeof startQueue>[0],
  ...sent: readonly string[]
): Promise<TestBroker> {
  const broker = await startQueue(t, {}, ...sent);
  expectStatus(await broker.putEntity('topic', 'TopicDescription', {}), 201);
  for (const path of [ALL, RED]) {
    expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  }
  const rule = `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><RuleDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Filter i:type="SqlFilter"><SqlExpression>colour = 'red'</SqlExpression></Filter></RuleDescription></content></entry>`;
  expectStatus(await broker.request('PUT', `${RED}/Rules/red`, { body: rule }), 201);
  expectStatus(await broker.request('DELETE', `${RED}/Rules/$Default`), 200);
  return broker;
}

const red = (Body: string) => ({ Body, UserProperties: { colour: 'red' } });

test('a message that a transaction sends to a topic reaches the subscriptions whose rules match', async (t) => {
  const broker = await startTopic(t, 'a');
  const a = await lock(broker);
  const outcomes = await commit(broker, [
    settling('complete', 'q', a),
    sending('topic', red('one'), 'two'),
    sending('q', 'b'),
  ]);
  assert.deepEqual(outcomes, [
    { settled: true },
    { sequenceNumbers: [null, null] },
    { sequenceNumbers: [2] },
  ]);
  assert.deepEqual(bodies(await broker.peek(ALL)), ['one', 'two']);
  assert.deepEqual(bodies(await broker.peek(RED)), ['one']);
  assert.deepEqual(bodies(await broker.peek('q')), ['b']);
});

test('a transaction settles messages of a subscription and sends to its topic and to a queue', async (t) => {
  const broker = await startTopic(t);
  expectStatus(await broker.sendBatch('topic', [red('one'), { Body: 'two' }]), 201);
  const [one, two] = await broker.peekLockMany(ALL, 2);
  assert.ok(one && two);
  await commit(broker, [
    settling('complete', ALL, one),
    settling('deadLetter', ALL, two),
    sending('topic', 'three'),
    sending('q', 'four'),
  ]);
  assert.deepEqual(bodies(await broker.peek(ALL)), ['three']);
  assert.deepEqual(bodies(await broker.peek(`${ALL}/$deadletterqueue`)), ['two']);
  assert.deepEqual(bodies(await broker.peek(RED)), ['one']);
  assert.deepEqual(bodies(await broker.peek('q')), ['four']);
  await requireRefused(
    t,
    broker,
    [settling('complete', RED, await lock(broker, RED)), sending(ALL, 'x')],
    { status: 400, code: 'InvalidOperation', operation: 1 },
  );
});

test('a topic that filters before publishing refuses a transaction whose message matches no subscription', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  expectStatus(
    await broker.putEntity('quiet', 'TopicDescription', {
      FilteringMessagesBeforePublishing: 'true',
    }),
    201,
  );
  const a = await lock(broker);
  await requireRefused(t, broker, [settling('complete', 'q', a), sending('quiet', 'x')], {
    status: 404,
    code: 'NoMatchingSubscription',
    operation: 1,
  });
  assert.equal(await broker.complete(a), 200);
});

test('a transaction can send to a topic both scheduled messages and messages for immediate delivery', async (t) => {
  const broker = await startTopic(t);
  const later = { BrokerProperties: { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) } };
  const [sent] = await commit(broker, [sending('topic', { Body: 'later', ...later }, 'now')]);
  assert.deepEqual(sent, { sequenceNumbers: [2, null] });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(ALL, 9)), ['now']);
  broker.clock.advance({ ms: 60_000 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(ALL, 9)), ['later']);
});

test('a message that a transaction sends to a forwarding queue arrives at the destination', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  expectStatus(await broker.createQueue('end'), 201);
  expectStatus(await broker.createQueue('first', { ForwardTo: 'end' }), 201);
  const a = await lock(broker);
  await commit(broker, [settling('complete', 'q', a), sending('first', 'b'), sending('end', 'c')]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('end', 9)).sort(), ['b', 'c']);
});

test('sending via the entity that is settled counts as one of the four hops', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  for (const [name, to] of [
    ['five', ''],
    ['four', 'five'],
    ['three', 'four'],
    ['two', 'three'],
    ['one', 'two'],
  ]) {
    const settings: Record<string, string> = to ? { ForwardTo: to } : {};
    expectStatus(await broker.createQueue(name ?? '', settings), 201);
  }
  await commit(broker, [sending('one', 'direct')]);
  assert.deepEqual(bodies(await broker.peek('five')), ['direct']);
  const a = await lock(broker);
  await commit(broker, [settling('complete', 'q', a), sending('one', 'via')]);
  assert.deepEqual(bodies(await broker.peek('five')), ['direct']);
  const [stuck] = await broker.peek('four/$Transfer/$deadletterqueue');
  assert.equal(stuck?.body, 'via');
  assert.equal(stuck?.properties['DeadLetterReason'], 'MaxTransferHopCountExceeded');
});

test('a message that a transaction dead-letters is forwarded if the queue forwards dead letters', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.createQueue('failed'), 201);
  expectStatus(
    await broker.createQueue('source', { ForwardDeadLetteredMessagesTo: 'failed' }),
    201,
  );
  expectStatus(await broker.send('source', 'a'), 201);
  const a = await lock(broker, 'source');
  await commit(broker, [settling('deadLetter', 'source', a, { deadLetterReason: 'bad' })]);
  const [dead] = await broker.peek('failed');
  assert.deepEqual([dead?.body, dead?.properties['DeadLetterReason']], ['a', 'bad']);
});

test('a transaction of more than 100 writes is refused', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  expectStatus(await broker.putEntity('wide', 'TopicDescription', {}), 201);
  for (let i = 0; i < 51; i++) {
    const path = `wide/Subscriptions/s${i}`;
    expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  }
  const a = await lock(broker);
  // Messages of one send share a block, so 102 copies of two messages are 51 blocks, which is allowed.
  await commit(broker, [settling('renew', 'q', a), sending('wide', 'x', 'y')]);
  const large = 'z'.repeat(60_000);
  const answer = await broker.request('POST', '$transactions', {
    body: JSON.stringify({
      operations: [settling('complete', 'q', a), sending('wide', large, large)],
    }),
  });
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, /The transaction takes 103 writes; the limit is 100\./);
  assert.equal(await broker.complete(a), 200);
  assert.deepEqual(bodies(await broker.peek('wide/Subscriptions/s50')), ['x', 'y']);
});
