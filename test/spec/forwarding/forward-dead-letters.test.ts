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

const ON = { ForwardDeadLetteredMessagesTo: 'morgue' };

/** `q`, whose dead letters go to `morgue`. */
async function start(t: TestContext, settings: Record<string, string> = {}): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('morgue'), 201);
  expectStatus(await broker.createQueue('q', { ...ON, ...settings }), 201);
  return broker;
}

async function sweepLater(broker: TestBroker): Promise<void> {
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
}

test('#128 what is dead-lettered goes to the destination, with its source and its reason', async (t) => {
  const broker = await start(t);
  expectStatus(
    await broker.sendBatch('q', [{ Body: 'ok' }, { Body: 'x', UserProperties: { own: 1 } }]),
    201,
  );
  await lockAndSettle(broker, 'complete', {}, 'q');
  const why = { deadLetterReason: 'bad', deadLetterErrorDescription: 'very bad' };
  await lockAndSettle(broker, 'deadLetter', why, 'q');
  const [message] = await drain(broker, 'morgue');
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

test('#128 what used up its deliveries goes to the destination, by abandons', async (t) => {
  const broker = await start(t, { MaxDeliveryCount: '2' });
  expectStatus(await broker.send('q', 'x'), 201);
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'abandon', {}, 'q');
  const description = 'Message could not be consumed after 2 delivery attempts.';
  assert.deepEqual(await reasons(broker, 'morgue'), [
    ['x', 'MaxDeliveryCountExceeded', description],
  ]);
  const [message] = await drain(broker, 'morgue');
  assert.equal(message?.broker.DeliveryCount, 1);
  assert.deepEqual(await counts(broker, 'q'), {});
});

test('#128 what used up its deliveries goes to the destination, by locks that ended', async (t) => {
  const broker = await start(t, { MaxDeliveryCount: '1' });
  expectStatus(await broker.send('q', 'x'), 201);
  await lock(broker, 'q');
  broker.clock.advance({ minutes: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await drainBodies(broker, 'morgue'), ['x']);
});

test('#128 what expired goes to the destination', async (t) => {
  const broker = await start(t, { DeadLetteringOnMessageExpiration: 'true' });
  expectStatus(await broker.send('q', 'x', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await reasons(broker, 'morgue'), [['x', ...EXPIRED]]);
});

test('#128 what an operator dead-letters goes to the destination with the next sweep at the latest', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('q', 'x'), 201);
  assert.deepEqual(await broker.deadLetterByNumber('q', [1]), [true]);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'morgue'), ['x']);
});

test('#128 dead letters that were there before go on', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('old'), 201);
  for (const body of ['a', 'b', 'alive']) expectStatus(await broker.send('old', body), 201);
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter', {}, 'old');
  expectStatus(await broker.updateQueue('old', ON), 200);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'morgue'), ['a', 'b']);
  assert.deepEqual(await drainBodies(broker, 'old'), ['alive']);
});

test('#128 a subscription’s dead letters go to the destination', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'), ON);
  await createSubscription(broker, subscription('other'));
  expectStatus(await broker.send('t', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', { deadLetterReason: 'bad' }, subscription('s'));
  const [message] = await drain(broker, 'morgue');
  assert.deepEqual([message?.body, message?.properties['DeadLetterReason']], ['x', 'bad']);
  assert.match(String(message?.broker['DeadLetterSource']), /^t\/subscriptions\/s$/i);
  assert.deepEqual(await drainBodies(broker, subscription('other')), ['x']);
});

test('#128 #C10 what a subscription’s rules failed on goes to the destination', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  const odd = { filter: sql('sys.Bogus = 1') };
  await createRuledSubscription(broker, subscription('s'), { odd }, ON);
  expectStatus(await broker.send('t', 'x'), 201);
  await sweepLater(broker);
  const [message] = await drain(broker, 'morgue');
  assert.deepEqual(
    [message?.body, message?.properties['DeadLetterReason']],
    ['x', 'FilterException'],
  );
  assert.match(String(message?.broker['DeadLetterSource']), /^t\/subscriptions\/s$/i);
});

test('#124 nobody receives from a dead-letter queue that forwards', async (t) => {
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

test('#128 dead letters go through a topic to those of its subscriptions that want them', async (t) => {
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

test('#128 where the destination is disabled, dead letters wait in the transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('morgue', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  assert.deepEqual(await counts(broker, 'q'), { Message: 1, TransferDeadLetter: 1 });
  assert.deepEqual(await drainBodies(broker, transfersOf('q')), ['x']);
});

test('#122 #128 two queues that bury in each other end by the limit on hops', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('morgue', { ForwardDeadLetteredMessagesTo: 'q' }), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  for (let i = 0; i < 4; i++) {
    const path = i % 2 === 0 ? 'q' : 'morgue';
    const { body } = await lockAndSettle(broker, 'deadLetter', {}, path);
    assert.equal(body, 'x');
  }
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  assert.deepEqual(bodies(await broker.peek(transfersOf('q'))), ['x']);
  const [message] = await broker.peek(transfersOf('q'));
  assert.equal(message?.properties['DeadLetterReason'], 'MaxTransferHopCountExceeded');
  assert.deepEqual(await counts(broker, 'morgue'), {});
});

test('#C3 what went to the destination lives there as any message and may expire', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('morgue', { DefaultMessageTimeToLive: 'PT1M' }), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  await lockAndSettle(broker, 'deadLetter', { deadLetterReason: 'again' }, 'morgue');
  const path = deadLettersOf('morgue');
  assert.deepEqual(await reasons(broker, path), [['x', 'again', undefined]]);
  expectStatus(await broker.send('q', 'y'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, 'q');
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual(await drain(broker, 'morgue'), []);
});
