import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { counts, drain, drainBodies, reasons, transfersOf } from '../../support/topic-entities.ts';
import { bodies, instant, lock, lockAndSettle, numbers } from '../queues/queue.ts';

const TOO_FAR = [
  'MaxTransferHopCountExceeded',
  'The maximum number of allowed hops when forwarding between queues. Value is set to 4.',
];

/** Queues `q0` … `q<hops>`, each of which forwards to the next. */
async function startChain(
  t: TestContext,
  hops: number,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  const broker = await startBroker(t);
  for (let i = hops; i >= 0; i--) {
    const onward: Record<string, string> = i === hops ? {} : { ForwardTo: `q${i + 1}` };
    expectStatus(await broker.createQueue(`q${i}`, { ...settings, ...onward }), 201);
  }
  return broker;
}

test('#121 a message sent to a forwarding queue is received from its destination, with its first sequence number as EnqueuedSequenceNumber', async (t) => {
  const broker = await startChain(t, 1);
  for (let i = 0; i < 3; i++) expectStatus(await broker.send('q1', 'own'), 201);
  for (const body of ['a', 'b']) expectStatus(await broker.send('q0', body), 201);
  const [a, b] = (await drain(broker, 'q1')).slice(3);
  assert.deepEqual(
    [a, b].map((m) => [m?.body, m?.broker.SequenceNumber, m?.broker['EnqueuedSequenceNumber']]),
    [
      ['a', 4, 1],
      ['b', 5, 2],
    ],
  );
  assert.deepEqual(await counts(broker, 'q0'), {});
});

test('#121 a message sent to the destination itself has the EnqueuedSequenceNumber 0', async (t) => {
  const broker = await startChain(t, 1);
  expectStatus(await broker.send('q1', 'own'), 201);
  assert.equal((await drain(broker, 'q1'))[0]?.broker['EnqueuedSequenceNumber'], 0);
});

test('#121 a forwarded batch stays together and in order', async (t) => {
  const broker = await startChain(t, 1);
  const batch = Array.from({ length: 100 }, (_, i) => ({ Body: `${i}` }));
  expectStatus(await broker.sendBatch('q0', batch), 201);
  const all = await drain(broker, 'q1');
  assert.deepEqual(bodies(all), bodies(batch.map(({ Body }) => ({ body: Body }) as never)));
  assert.deepEqual(
    numbers(all),
    batch.map((_, i) => i + 1),
  );
  assert.deepEqual(
    all.map(({ broker: shown }) => shown['EnqueuedSequenceNumber']),
    batch.map((_, i) => i + 1),
  );
});

test('#122 a message is delivered after four hops, with the EnqueuedSequenceNumber of the first queue', async (t) => {
  const broker = await startChain(t, 4);
  for (const path of ['q1', 'q2', 'q3']) expectStatus(await broker.send(path, path), 201);
  expectStatus(await broker.send('q0', 'first'), 201);
  expectStatus(await broker.send('q0', 'second'), 201);
  const all = await drain(broker, 'q4');
  assert.deepEqual(
    all.map(({ body, broker: shown }) => [body, shown['EnqueuedSequenceNumber']]),
    [
      ['q1', 1],
      // q2 has numbered the message from q1 before, and q3 those from q1 and q2.
      ['q2', 2],
      ['q3', 3],
      ['first', 1],
      ['second', 2],
    ],
  );
  for (let i = 0; i < 4; i++) assert.deepEqual(await counts(broker, `q${i}`), {});
});

test('#122 #123 #C12 a message that needs a fifth hop goes to the transfer dead-letter queue of the fifth queue', async (t) => {
  const broker = await startChain(t, 5);
  expectStatus(await broker.send('q0', 'too far'), 201);
  expectStatus(await broker.send('q1', 'just right'), 201);
  assert.deepEqual(await drainBodies(broker, 'q5'), ['just right']);
  assert.deepEqual(await reasons(broker, transfersOf('q4')), [['too far', ...TOO_FAR]]);
  assert.deepEqual(await counts(broker, 'q4'), { Message: 1, TransferDeadLetter: 1 });
  for (const i of [0, 1, 2, 3, 5]) assert.deepEqual(await counts(broker, `q${i}`), {});
});

test('#122 the limit on hops ends a loop of two queues', async (t) => {
  const broker = await startChain(t, 1);
  expectStatus(await broker.updateQueue('q1', { ForwardTo: 'q0' }), 200);
  expectStatus(await broker.send('q0', 'round'), 201);
  assert.deepEqual(await reasons(broker, transfersOf('q0')), [['round', ...TOO_FAR]]);
  assert.deepEqual(await counts(broker, 'q0'), { Message: 1, TransferDeadLetter: 1 });
  assert.deepEqual(await counts(broker, 'q1'), {});
  for (let i = 0; i < 5; i++) {
    broker.clock.advance({ minutes: 1 });
    await broker.sweep();
  }
  assert.deepEqual(await drainBodies(broker, transfersOf('q0')), ['round']);
});

test('#122 the limit on hops ends a loop of three queues, from each of its queues', async (t) => {
  const broker = await startChain(t, 2);
  expectStatus(await broker.updateQueue('q2', { ForwardTo: 'q0' }), 200);
  for (let i = 0; i < 3; i++) expectStatus(await broker.send(`q${i}`, `${i}`), 201);
  for (let i = 0; i < 3; i++) {
    // In a loop of three, four hops lead to the next queue.
    const last = `q${(i + 4) % 3}`;
    assert.deepEqual(await reasons(broker, transfersOf(last)), [[`${i}`, ...TOO_FAR]]);
  }
});

test('a message is forwarded with its body and all its properties', async (t) => {
  const broker = await startChain(t, 3);
  const system = {
    MessageId: 'm',
    CorrelationId: 'c',
    Label: 'l',
    ReplyTo: 'r',
    To: 'to',
    SessionId: 's',
    ReplyToSessionId: 'rs',
    PartitionKey: 's',
    ContentType: 'text/plain',
  };
  const properties = { text: 'grün', whole: 7, real: 1.5, yes: true, none: null };
  const large = Array.from({ length: 10_000 }, (_, i) => `${i * 7919}`).join(' ');
  for (const Body of ['small', large]) {
    const sent = { Body, BrokerProperties: system, UserProperties: properties };
    expectStatus(await broker.sendBatch('q0', [sent]), 201);
  }
  const all = await drain(broker, 'q3');
  assert.deepEqual(bodies(all), ['small', large]);
  for (const { broker: shown, properties: found } of all) {
    assert.deepEqual(Object.fromEntries(Object.keys(system).map((k) => [k, shown[k]])), system);
    assert.deepEqual(found, properties);
    assert.equal(shown.DeliveryCount, 1);
  }
});

test('a forwarded message keeps its time to live, limited by the default of the destination', async (t) => {
  const broker = await startChain(t, 1);
  expectStatus(await broker.createQueue('q2', { DefaultMessageTimeToLive: 'PT20S' }), 201);
  expectStatus(await broker.send('q0', 'short', { TimeToLive: 10 }), 201);
  expectStatus(await broker.send('q0', 'long', { TimeToLive: 100 }), 201);
  expectStatus(await broker.updateQueue('q1', { ForwardTo: 'q2' }), 200);
  const [short, long] = await broker.peek('q2');
  assert.equal(short?.broker['ExpiresAtUtc'], instant({ seconds: 10 }));
  assert.equal(long?.broker['ExpiresAtUtc'], instant({ seconds: 20 }));
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(bodies(await broker.peekLockMany('q2', 10)), ['long']);
  broker.clock.advance({ minutes: 2 });
  assert.deepEqual(await drain(broker, 'q2'), []);
});

test('a forwarded message shows the default time to live of the destination if that is shorter', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q1', { DefaultMessageTimeToLive: 'PT20S' }), 201);
  expectStatus(await broker.createQueue('q0', { ForwardTo: 'q1' }), 201);
  expectStatus(await broker.send('q0', 'x', { TimeToLive: 100 }), 201);
  const [message] = await broker.peekLockMany('q1', 1);
  assert.equal(message?.broker['ExpiresAtUtc'], instant({ seconds: 20 }));
  assert.equal(message?.broker.TimeToLive, 20);
});

test('forwarded messages can be locked, abandoned, deferred and dead-lettered at the destination', async (t) => {
  const broker = await startChain(t, 1, { MaxDeliveryCount: '2' });
  for (const body of ['used up', 'deferred', 'done']) {
    expectStatus(await broker.send('q0', body), 201);
  }
  await lockAndSettle(broker, 'abandon', {}, 'q1');
  const again = await lock(broker, 'q1');
  assert.deepEqual([again.body, again.broker.DeliveryCount], ['used up', 2]);
  assert.equal(await broker.abandon(again), 200);
  const { broker: deferred } = await lockAndSettle(broker, 'defer', {}, 'q1');
  await lockAndSettle(broker, 'complete', {}, 'q1');
  assert.equal(await broker.peekLock('q1'), undefined);
  const [found] = await broker.receiveDeferred('q1', [deferred.SequenceNumber]);
  assert.equal(found?.body, 'deferred');
  assert.deepEqual(bodies(await broker.peek('q1/$deadletterqueue')), ['used up']);
  assert.deepEqual(await counts(broker, 'q0'), {});
});

test('a waiting receive at the destination gets a message that is sent to the source', async (t) => {
  const broker = await startChain(t, 2);
  const waiting = broker.peekLock('q2', 60);
  expectStatus(await broker.send('q0', 'x'), 201);
  assert.equal((await waiting)?.body, 'x');
});

test('#154 a forwarding queue with the status SendDisabled refuses sends', async (t) => {
  const broker = await startChain(t, 1);
  expectStatus(await broker.updateQueue('q0', { ForwardTo: 'q1', Status: 'SendDisabled' }), 200);
  const refused = await broker.send('q0', 'x');
  assert.equal(refused.headers.get('x-dynabus-error'), 'MessagingEntityDisabled');
  assert.deepEqual(await drainBodies(broker, 'q1'), []);
});

test('a queue whose ForwardTo is removed keeps later messages', async (t) => {
  const broker = await startChain(t, 1);
  expectStatus(await broker.send('q0', 'forwarded'), 201);
  expectStatus(await broker.updateQueue('q0'), 200);
  expectStatus(await broker.send('q0', 'kept'), 201);
  assert.deepEqual(await drainBodies(broker, 'q0'), ['kept']);
  assert.deepEqual(await drainBodies(broker, 'q1'), ['forwarded']);
});
