import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRuledSubscription,
  createSubscription,
  createTopic,
  drain,
  drainBodies,
  EVERYTHING,
  reasons,
  set,
  subscription,
  transfersOf,
} from '../../support/topic-entities.ts';
import { bodies, lock, lockAndSettle, settleOne } from '../queues/queue.ts';

const TRANSFERS = transfersOf('source');

/** Starts a namespace with `source`, which forwards to `target`. */
async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'target' }), 201);
  return broker;
}

async function send(broker: TestBroker, ...sent: readonly string[]): Promise<void> {
  for (const body of sent) expectStatus(await broker.send('source', body), 201);
}

/** Body and reason of the failed transfers. */
async function failed(broker: TestBroker, path = TRANSFERS): Promise<readonly unknown[]> {
  return (await broker.peek(path)).map(({ body, properties }) => [
    body,
    properties['DeadLetterReason'],
  ]);
}

for (const status of ['Disabled', 'SendDisabled']) {
  test(`#123 #C12 a message whose destination has the status ${status} goes to the transfer dead-letter queue`, async (t) => {
    const broker = await start(t);
    expectStatus(await broker.updateQueue('target', { Status: status }), 200);
    await send(broker, 'x');
    assert.deepEqual(await reasons(broker, TRANSFERS), [
      [
        'x',
        'MessagingEntityDisabled',
        "The destination 'target' of the transfer is currently disabled.",
      ],
    ]);
    assert.deepEqual(await counts(broker, 'source'), { Message: 1, TransferDeadLetter: 1 });
    assert.deepEqual(await counts(broker, 'target'), {});
    expectStatus(await broker.updateQueue('target'), 200);
    await send(broker, 'y');
    assert.deepEqual(await drainBodies(broker, 'target'), ['y']);
    assert.deepEqual(await drainBodies(broker, TRANSFERS), ['x']);
  });
}

test('#123 messages are forwarded to a destination with the status ReceiveDisabled', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'ReceiveDisabled' }), 200);
  await send(broker, 'x');
  assert.deepEqual(await counts(broker, 'source'), {});
  assert.deepEqual(await counts(broker, 'target'), { Message: 1, Active: 1 });
});

test('#123 #C12 a message whose destination was deleted goes to the transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.request('DELETE', 'target'), 200);
  await send(broker, 'x');
  expectStatus(await broker.sendBatch('source', [{ Body: 'y' }, { Body: 'z' }]), 201);
  assert.deepEqual(await failed(broker), [
    ['x', 'MessagingEntityNotFound'],
    ['y', 'MessagingEntityNotFound'],
    ['z', 'MessagingEntityNotFound'],
  ]);
  assert.deepEqual(await counts(broker, 'source'), { Message: 3, TransferDeadLetter: 3 });
});

test('#123 a destination that is deleted and created again gets later messages', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.request('DELETE', 'target'), 200);
  await send(broker, 'lost');
  expectStatus(await broker.createQueue('target'), 201);
  await send(broker, 'found');
  assert.deepEqual(await drainBodies(broker, 'target'), ['found']);
  assert.deepEqual(await drainBodies(broker, TRANSFERS), ['lost']);
});

test('#123 a message whose chain ends at a disabled destination goes to the transfer dead-letter queue of the last forwarding queue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('end', { Status: 'Disabled' }), 201);
  expectStatus(await broker.updateQueue('target', { ForwardTo: 'end' }), 200);
  await send(broker, 'x');
  assert.deepEqual(await failed(broker, transfersOf('target')), [['x', 'MessagingEntityDisabled']]);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('#123 a subscription that cannot forward does not affect the copies of other subscriptions', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'), { ForwardTo: 'target' });
  await createSubscription(broker, subscription('other'));
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await failed(broker, transfersOf(subscription('s'))), [
    ['x', 'MessagingEntityDisabled'],
  ]);
  assert.deepEqual(await counts(broker, subscription('s')), { Message: 1, TransferDeadLetter: 1 });
  assert.deepEqual(await drainBodies(broker, subscription('other')), ['x']);
});

test('failed transfers can be locked, abandoned and deferred, but not dead-lettered again', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  await send(broker, 'a', 'b');
  for (let i = 0; i < 12; i++) await lockAndSettle(broker, 'abandon', {}, TRANSFERS);
  const a = await lock(broker, TRANSFERS);
  assert.deepEqual([a.body, a.broker.DeliveryCount], ['a', 1]);
  const again = { lockToken: a.broker.LockToken, outcome: 'deadLetter' } as const;
  const [refused] = await broker.settle(TRANSFERS, [again]);
  assert.equal(refused?.error?.code, 'InvalidOperation');
  await settleOne(broker, a, 'defer', {}, TRANSFERS);
  assert.deepEqual(await drainBodies(broker, TRANSFERS), ['b']);
  const [deferred] = await broker.receiveDeferred(TRANSFERS, [a.broker.SequenceNumber]);
  assert.equal(deferred?.body, 'a');
  assert.equal(await broker.peekLock('source/$deadletterqueue'), undefined);
});

test('failed transfers do not expire', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('source', 'x', { TimeToLive: 1 }), 201);
  broker.clock.advance({ days: 1 });
  assert.deepEqual(await drainBodies(broker, TRANSFERS), ['x']);
});

test('a send to a transfer dead-letter queue is refused', async (t) => {
  const broker = await start(t);
  const refused = await broker.send(TRANSFERS, 'x');
  assert.equal(refused.headers.get('x-dynabus-error'), 'InvalidOperation');
});

test('a failed transfer that is resubmitted is forwarded to the destination', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  await send(broker, 'x');
  expectStatus(await broker.updateQueue('target'), 200);
  assert.equal(await broker.resubmit(TRANSFERS), 1);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  const all = await drain(broker, 'target');
  assert.deepEqual(bodies(all), ['x']);
  assert.deepEqual(all[0]?.properties, {});
  assert.deepEqual(await counts(broker, 'source'), {});
});

const KB = 1024;
/** Properties `spare` bytes below the limit of 64 KB, which includes their names and the MessageId. */
function fullHeader(spare: number) {
  const names = 'a'.length + 'b'.length + 'm'.length;
  const UserProperties = { a: 'a'.repeat(32 * KB), b: 'b'.repeat(32 * KB - names - spare) };
  return { BrokerProperties: { MessageId: 'm' }, UserProperties };
}

test('#38 #C6 a message whose properties an action made too large goes to the transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  const grow = { filter: EVERYTHING, action: set("SET c = 'c'") };
  await createRuledSubscription(broker, subscription('s'), { grow }, { ForwardTo: 'target' });
  // The rule adds the properties RuleName and c, which are 14 bytes.
  for (const [body, spare] of [
    ['fits', 14],
    ['does not', 13],
  ] as const) {
    expectStatus(await broker.sendBatch('t', [{ Body: body, ...fullHeader(spare) }]), 201);
  }
  assert.deepEqual(await drainBodies(broker, 'target'), ['fits']);
  assert.deepEqual(await reasons(broker, transfersOf(subscription('s'))), [
    ['does not', 'HeaderSizeExceeded', 'The size quota for this stream has been exceeded.'],
  ]);
});

test('#38 #C6 a dead letter whose reason made its properties too large goes to the transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('q', { ForwardDeadLetteredMessagesTo: 'target' }), 201);
  expectStatus(await broker.sendBatch('q', [{ Body: 'x', ...fullHeader(100) }]), 201);
  const options = { deadLetterReason: 'r'.repeat(100) };
  // A receive of a single message could not return such large properties in its HTTP headers.
  const [held] = await broker.peekLockMany('q', 1);
  assert.ok(held);
  await settleOne(broker, held, 'deadLetter', options, 'q');
  assert.deepEqual(await drainBodies(broker, 'target'), []);
  assert.deepEqual(await reasons(broker, transfersOf('q')), [
    ['x', 'HeaderSizeExceeded', 'The size quota for this stream has been exceeded.'],
  ]);
});
