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

/** `source` forwards to `target`. */
async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'target' }), 201);
  return broker;
}

async function send(broker: TestBroker, ...sent: readonly string[]): Promise<void> {
  for (const body of sent) expectStatus(await broker.send('source', body), 201);
}

/** Body and reason of what could not be transferred. */
async function lost(broker: TestBroker, path = TRANSFERS): Promise<readonly unknown[]> {
  return (await broker.peek(path)).map(({ body, properties }) => [
    body,
    properties['DeadLetterReason'],
  ]);
}

for (const status of ['Disabled', 'SendDisabled']) {
  test(`#123 #C12 a destination that is ${status}: the message waits in the source’s transfer dead-letter queue`, async (t) => {
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

test('#123 a destination that only receivers are kept from gets its messages', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'ReceiveDisabled' }), 200);
  await send(broker, 'x');
  assert.deepEqual(await counts(broker, 'source'), {});
  assert.deepEqual(await counts(broker, 'target'), { Message: 1, Active: 1 });
});

test('#123 #C12 a destination deleted later: the message waits in the source’s transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.request('DELETE', 'target'), 200);
  await send(broker, 'x');
  expectStatus(await broker.sendBatch('source', [{ Body: 'y' }, { Body: 'z' }]), 201);
  assert.deepEqual(await lost(broker), [
    ['x', 'MessagingEntityNotFound'],
    ['y', 'MessagingEntityNotFound'],
    ['z', 'MessagingEntityNotFound'],
  ]);
  assert.deepEqual(await counts(broker, 'source'), { Message: 3, TransferDeadLetter: 3 });
});

test('#123 a destination that is made anew under its name gets messages again', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.request('DELETE', 'target'), 200);
  await send(broker, 'lost');
  expectStatus(await broker.createQueue('target'), 201);
  await send(broker, 'found');
  assert.deepEqual(await drainBodies(broker, 'target'), ['found']);
  assert.deepEqual(await drainBodies(broker, TRANSFERS), ['lost']);
});

test('#123 a disabled destination far down the chain: the message waits at its last stop', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('end', { Status: 'Disabled' }), 201);
  expectStatus(await broker.updateQueue('target', { ForwardTo: 'end' }), 200);
  await send(broker, 'x');
  assert.deepEqual(await lost(broker, transfersOf('target')), [['x', 'MessagingEntityDisabled']]);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('#123 of a subscription that cannot forward, the others’ copies arrive all the same', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'), { ForwardTo: 'target' });
  await createSubscription(broker, subscription('other'));
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await lost(broker, transfersOf(subscription('s'))), [
    ['x', 'MessagingEntityDisabled'],
  ]);
  assert.deepEqual(await counts(broker, subscription('s')), { Message: 1, TransferDeadLetter: 1 });
  assert.deepEqual(await drainBodies(broker, subscription('other')), ['x']);
});

test('what could not be transferred is locked, deferred and completed like any dead letter', async (t) => {
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

test('what could not be transferred does not expire', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('source', 'x', { TimeToLive: 1 }), 201);
  broker.clock.advance({ days: 1 });
  assert.deepEqual(await drainBodies(broker, TRANSFERS), ['x']);
});

test('nobody sends to a transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  const refused = await broker.send(TRANSFERS, 'x');
  assert.equal(refused.headers.get('x-dynabus-error'), 'InvalidOperation');
});

test('what could not be transferred, resubmitted, goes on to the destination', async (t) => {
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
/** Properties that are just as large as a message may have: 64 KB with their names and the id. */
function fullHeader(spare: number) {
  const names = 'a'.length + 'b'.length + 'm'.length;
  const UserProperties = { a: 'a'.repeat(32 * KB), b: 'b'.repeat(32 * KB - names - spare) };
  return { BrokerProperties: { MessageId: 'm' }, UserProperties };
}

test('#38 #C6 properties that an action made too large cannot be forwarded', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  const grow = { filter: EVERYTHING, action: set("SET c = 'c'") };
  await createRuledSubscription(broker, subscription('s'), { grow }, { ForwardTo: 'target' });
  // RuleName and c come to 14 bytes.
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

test('#38 #C6 dead letters whose reason made their properties too large cannot be forwarded', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('q', { ForwardDeadLetteredMessagesTo: 'target' }), 201);
  expectStatus(await broker.sendBatch('q', [{ Body: 'x', ...fullHeader(100) }]), 201);
  const options = { deadLetterReason: 'r'.repeat(100) };
  // So many properties find no room in headers.
  const [held] = await broker.peekLockMany('q', 1);
  assert.ok(held);
  await settleOne(broker, held, 'deadLetter', options, 'q');
  assert.deepEqual(await drainBodies(broker, 'target'), []);
  assert.deepEqual(await reasons(broker, transfersOf('q')), [
    ['x', 'HeaderSizeExceeded', 'The size quota for this stream has been exceeded.'],
  ]);
});
