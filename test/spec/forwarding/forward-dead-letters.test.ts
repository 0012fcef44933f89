import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRuledSubscription,
  createSubscription,
  createTopic,
  deadLettersOf,
  drain,
  drainBodies,
  reasons,
  sql,
  subscription,
  transfersOf,
} from '../../support/topic-entities.ts';
import { bodies, EXPIRED, lock, lockAndSettle } from '../queues/queue.ts';

const TO_TARGET = { ForwardDeadLetteredMessagesTo: 'target' };

/** Starts a namespace with the queue `q`, which forwards its dead letters to `target`. */
async function start(t: TestContext, settings: Record<string, string> = {}): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('q', { ...TO_TARGET, ...settings }), 201);
  return broker;
}

async function sweepLater(broker: TestBroker): Promise<void> {
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
}

test('#128 a dead-lettered message is forwarded with its DeadLetterSource and reason', async (t) => {
  const broker = await start(t);
  expectStatus(
    await broker.sendBatch('q', [{ Body: 'ok' }, { Body: 'x', UserProperties: { own: 1 } }]),
    201,
  );
  await lockAndSettle(broker, 'complete', {}, 'q');
  const why = { deadLetterReason: 'bad', deadLetterErrorDescription: 'very bad' };
  await lockAndSettle(broker, 'deadLetter', why, 'q');
  const [message] = await drain(broker, 'target');
  assert.ok(message);
  assert.equal(message.body, 'x');
  assert.deepEqual(message.properties, {
    own: 1,
    DeadLetterReason: 'bad',
    DeadLetterErrorDescription: 'very bad',
  });
  const { DeadLetterSource, EnqueuedSequenceNumber, SequenceNumber, DeliveryCount } =
    message.broker;
  assert.equal(String(DeadLetterSource).toLowerCase(), 'q');
  assert.deepEqual([EnqueuedSequenceNumber, SequenceNumber, DeliveryCount], [2, 1, 1]);
  assert.deepEqual(await counts(broker, 'q'), {});
});

test('#128 a message that reaches MaxDeliveryCount by abandons is forwarded', async (t) => {
  const broker = await start(t, { MaxDeliveryCount: '2' });
  expectStatus(await broker.send('q', 'x'), 201);
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'abandon', {}, 'q');
  const description = 'Message could not be consumed after 2 delivery attempts.';
  assert.deepEqual(await reasons(broker, 'target'), [
    ['x', 'MaxDeliveryCountExceeded', description],
  ]);
  const [message] = await drain(broker, 'target');
  assert.equal(message?.broker.DeliveryCount, 1);
  assert.deepEqual(await counts(broker, 'q'), {});
});

test('#128 a message that reaches MaxDeliveryCount by expired locks is forwarded', async (t) => {
  const broker = await start(t, { MaxDeliveryCount: '1' });
  expectStatus(await broker.send('q', 'x'), 201);
  await lock(broker, 'q');
  broker.clock.advance({ minutes: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await drainBodies(broker, 'target'), ['x']);
});

test('#128 an expired message is forwarded', async (t) => {
  const broker = await start(t, { DeadLetteringOnMessageExpiration: 'true' });
  expectStatus(await broker.send('q', 'x', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await reasons(broker, 'target'), [['x', ...EXPIRED]]);
});

test('#128 a message that an operator dead-letters is forwarded by the next sweep at the latest', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('q', 'x'), 201);
  assert.deepEqual(await broker.deadLetterByNumber('q', [1]), [true]);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['x']);
});

test('#128 dead letters from before ForwardDeadLetteredMessagesTo was set are forwarded', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('old'), 201);
  for (const body of ['a', 'b', 'alive']) expectStatus(await broker.send('old', body), 201);
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter', {}, 'old');
  expectStatus(await broker.updateQueue('old', TO_TARGET), 200);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['a', 'b']);
  assert.deepEqual(await drainBodies(broker, 'old'), ['alive']);
});

test('#128 the dead letters of a subscription are forwarded', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'), TO_TARGET);
  await createSubscription(broker, subscription('other'));
  expectStatus(await broker.send('t', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', { deadLetterReason: 'bad' }, subscription('s'));
  const [message] = await drain(broker, 'target');
  assert.deepEqual([message?.body, message?.properties['DeadLetterReason']], ['x', 'bad']);
  assert.match(String(message?.broker['DeadLetterSource']), /^t\/subscriptions\/s$/i);
  assert.deepEqual(await drainBodies(broker, subscription('other')), ['x']);
});

test('#128 #C10 a message that is dead-lettered for a FilterException is forwarded', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  const odd = { filter: sql('sys.Bogus = 1') };
  await createRuledSubscription(broker, subscription('s'), { odd }, TO_TARGET);
  expectStatus(await broker.send('t', 'x'), 201);
  await sweepLater(broker);
  const [message] = await drain(broker, 'target');
  assert.deepEqual(
    [message?.body, message?.properties['DeadLetterReason']],
    ['x', 'FilterException'],
  );
  assert.match(String(message?.broker['DeadLetterSource']), /^t\/subscriptions\/s$/i);
});

test('#124 a receive from a forwarding dead-letter queue is refused', async (t) => {
  const broker = await start(t);
  for (const query of ['', '&maxMessages=10']) {
    const refused = await broker.request(
      'POST',
      `${deadLettersOf('q')}/messages/head?timeout=0${query}`,
    );
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.headers.get('x-dynabus-error'), 'InvalidOperation');
  }
  expectStatus(await broker.send('q', 'x'), 201);
  assert.equal((await broker.peekLock('q'))?.body, 'x');
});

test('#128 dead letters that are forwarded to a topic go to its subscriptions with matching rules', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createRuledSubscription(broker, subscription('bad'), {
    bad: { filter: sql("DeadLetterReason = 'bad'") },
  });
  await createRuledSubscription(broker, subscription('worse'), {
    worse: { filter: sql("DeadLetterReason = 'worse'") },
  });
  expectStatus(await broker.updateQueue('q', { ForwardDeadLetteredMessagesTo: 't' }), 200);
  for (const reason of ['bad', 'worse']) {
    expectStatus(await broker.send('q', reason), 201);
    await lockAndSettle(broker, 'deadLetter', { deadLetterReason: reason }, 'q');
  }
  assert.deepEqual(await drainBodies(broker, subscription('bad')), ['bad']);
  assert.deepEqual(await drainBodies(broker, subscription('worse')), ['worse']);
});

test('#128 dead letters whose destination is disabled go to the transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  assert.deepEqual(await counts(broker, 'q'), { Message: 1, TransferDeadLetter: 1 });
  assert.deepEqual(await drainBodies(broker, transfersOf('q')), ['x']);
});

test('#122 #128 the limit on hops applies to two queues that forward their dead letters to each other', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { ForwardDeadLetteredMessagesTo: 'q' }), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  for (let i = 0; i < 4; i++) {
    const path = i % 2 === 0 ? 'q' : 'target';
    const { body } = await lockAndSettle(broker, 'deadLetter', {}, path);
    assert.equal(body, 'x');
  }
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  assert.deepEqual(bodies(await broker.peek(transfersOf('q'))), ['x']);
  const [message] = await broker.peek(transfersOf('q'));
  assert.equal(message?.properties['DeadLetterReason'], 'MaxTransferHopCountExceeded');
  assert.deepEqual(await counts(broker, 'target'), {});
});

test('#C3 a forwarded dead letter can be dead-lettered and can expire at the destination', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { DefaultMessageTimeToLive: 'PT1M' }), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  await lockAndSettle(broker, 'deadLetter', { deadLetterReason: 'again' }, 'target');
  const path = deadLettersOf('target');
  assert.deepEqual(await reasons(broker, path), [['x', 'again', undefined]]);
  expectStatus(await broker.send('q', 'y'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual(await drain(broker, 'target'), []);
});
