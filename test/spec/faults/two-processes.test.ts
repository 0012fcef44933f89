import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  drainBodies,
  reasons,
  transfersOf,
} from '../../support/topic-entities.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

/** Starts two processes of one namespace, which do not notify each other. */
async function startTwo(t: TestContext): Promise<readonly [TestBroker, TestBroker]> {
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('q', { LockDuration: 'PT30S' }), 201);
  return [here, there];
}

async function lock(broker: TestBroker): Promise<Received> {
  const message = await broker.peekLock('q');
  assert.ok(message);
  return message;
}

/** The message with the location that it has at another process. */
function locatedAt(broker: TestBroker, { location, ...message }: Received): Received {
  assert.ok(location);
  return { ...message, location: `${broker.api.url}${new URL(location).pathname}` };
}

test('messages sent through two processes are received through one, with consecutive sequence numbers', async (t) => {
  const [here, there] = await startTwo(t);
  for (const [i, broker] of [here, there, there, here].entries()) {
    expectStatus(await broker.send('q', `${i}`), 201);
  }
  const received = await there.receiveAndDeleteMany('q', 10);
  assert.deepEqual(
    received.map(({ body, broker: { SequenceNumber } }) => [body, SequenceNumber]),
    [
      ['0', 1],
      ['1', 2],
      ['2', 3],
      ['3', 4],
    ],
  );
  assert.equal(await here.peekLock('q'), undefined);
});

test('#3 a message that is locked through one process is not delivered through another', async (t) => {
  const [here, there] = await startTwo(t);
  expectStatus(await here.sendBatch('q', [{ Body: 'a' }, { Body: 'b' }]), 201);
  assert.equal((await lock(here)).body, 'a');
  assert.equal((await lock(there)).body, 'b');
  assert.equal(await there.receiveAndDelete('q'), undefined);
  here.clock.advance({ ms: 29_999 });
  assert.equal(await there.peekLock('q'), undefined);
  here.clock.advance({ ms: 1 });
  assert.equal((await lock(there)).broker.DeliveryCount, 2);
});

test('a lock that is taken through one process can be renewed and settled through another', async (t) => {
  const [here, there] = await startTwo(t);
  expectStatus(await here.send('q', 'x'), 201);
  const message = locatedAt(there, await lock(here));
  here.clock.advance({ seconds: 29 });
  assert.equal((await there.renew(message)).status, 200);
  here.clock.advance({ seconds: 29 });
  assert.equal(await there.complete(message), 200);
  assert.equal(await here.complete(locatedAt(here, message)), 404);
  here.clock.advance({ days: 1 });
  assert.equal(await here.peekLock('q'), undefined);
});

test('a waiting receive at one process gets a message that is abandoned through another', async (t) => {
  const [here, there] = await startTwo(t);
  expectStatus(await here.send('q', 'x'), 201);
  const message = await lock(here);
  const waiting = here.peekLock('q', 60);
  assert.equal(await there.abandon(locatedAt(there, message)), 200);
  assert.equal((await waiting)?.broker.DeliveryCount, 2);
});

test('#16 a waiting receive at one process gets a message that is sent through another', async (t) => {
  const [here, there] = await startTwo(t);
  const waiting = here.peekLock('q', 60);
  expectStatus(await there.send('q', 'x'), 201);
  assert.equal((await waiting)?.body, 'x');
});

test('receivers of two processes never get the same message', async (t) => {
  const [here, there] = await startTwo(t);
  const batch = Array.from({ length: 300 }, (_, i) => ({ Body: `${i}` }));
  expectStatus(await here.sendBatch('q', batch), 201);
  const bodies: string[] = [];
  const receive = async (broker: TestBroker, size: number) => {
    for (;;) {
      const messages = await broker.peekLockMany('q', size);
      bodies.push(...messages.map(({ body }) => body));
      if (messages.length === 0) return;
    }
  };
  await Promise.all([1, 5, 20].flatMap((size) => [receive(here, size), receive(there, size)]));
  await receive(here, 1000);
  assert.deepEqual(
    bodies.map(Number).sort((a, b) => a - b),
    batch.map((_, i) => i),
  );
});

test('a queue deleted through one process refuses sends through the other at once', async (t) => {
  // The other process still has the queue in its cache; a condition of the write refuses the send.
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('q'), 201);
  for (const broker of [here, there]) expectStatus(await broker.send('q', 'known'), 201);

  expectStatus(await here.request('DELETE', 'q'), 200);
  for (const answer of [await there.send('q', 'x'), await there.sendBatch('q', [{ Body: 'x' }])]) {
    assert.equal(answer.status, 410);
    assert.equal(answer.headers.get('x-dynabus-error'), 'MessagingEntityNotFound');
  }
});

for (const source of ['source', 'topic']) {
  test(`#123 a send through one process to a ${source} that forwards follows the deletion and creation of the destination through another`, async (t) => {
    const here = await startBroker(t);
    // A time of its own, so that its leases do not end while the deletion waits.
    const there = await startBroker(t, { beside: here, scheduler: new VirtualTime() });
    expectStatus(await here.createQueue('q'), 201);
    expectStatus(await here.createQueue('source', { ForwardTo: 'q' }), 201);
    await createTopic(here, 'topic');
    await createSubscription(here, 'topic/subscriptions/s', { ForwardTo: 'q' });
    const transfers = transfersOf(source === 'topic' ? 'topic/subscriptions/s' : source);

    expectStatus(await there.send(source, 'old'), 201);
    expectStatus(await here.request('DELETE', 'q'), 200);
    expectStatus(await here.createQueue('q'), 201);
    expectStatus(await there.send(source, 'new'), 201);
    expectStatus(await there.sendBatch(source, [{ Body: 'batch' }]), 201);
    assert.deepEqual(await drainBodies(here, 'q'), ['new', 'batch']);

    expectStatus(await here.request('DELETE', 'q'), 200);
    expectStatus(await there.send(source, 'nowhere'), 201);
    assert.deepEqual(await reasons(here, transfers), [
      [
        'nowhere',
        'MessagingEntityNotFound',
        "The destination 'q' of the transfer could not be found.",
      ],
    ]);
  });
}

test('a send through one process goes to the queue that another has just deleted and created again', async (t) => {
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('q'), 201);
  for (const broker of [here, there]) expectStatus(await broker.send('q', 'old'), 201);
  expectStatus(await here.request('DELETE', 'q'), 200);
  expectStatus(await here.createQueue('q'), 201);

  expectStatus(await there.send('q', 'new'), 201);
  const received = await here.receiveAndDeleteMany('q', 10);
  assert.deepEqual(
    received.map(({ body, broker: { SequenceNumber } }) => [body, SequenceNumber]),
    [['new', 1]],
  );
});

test('#14 an update through one process ends the locks held through the other', async (t) => {
  const [here, there] = await startTwo(t);
  expectStatus(await here.sendBatch('q', [{ Body: 'a' }, { Body: 'b' }]), 201);
  const [a, b] = [await lock(there), await lock(here)];
  expectStatus(await here.updateQueue('q', { LockDuration: 'PT10S' }), 200);

  // The update has answered, so no process may use the old settings any more.
  for (const broker of [there, here]) {
    for (const message of [a, b]) {
      assert.equal(await broker.complete(locatedAt(broker, message)), 404);
      assert.equal((await broker.renew(locatedAt(broker, message))).status, 404);
    }
  }
  const again = await there.peekLockMany('q', 10);
  assert.deepEqual(
    again.map(({ body, broker: { DeliveryCount } }) => [body, DeliveryCount]),
    [
      ['a', 2],
      ['b', 2],
    ],
  );
  const [{ broker: shown } = a] = again;
  assert.equal(Date.parse(shown.LockedUntilUtc), here.clock.now() + 10_000);
});
