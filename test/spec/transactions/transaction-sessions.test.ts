import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { acceptNext, acceptSession } from '../../support/test-session.ts';
import { createSubscription, createTopic, subscription } from '../../support/topic-entities.ts';
import { bodies } from '../queues/queue.ts';
import { commit, refusalOf, requireRefused, sending, settling, transact } from './transaction.ts';

/** Transactions with queues that require sessions or detect duplicates. */

const SESSIONS = { LockDuration: 'PT1M', RequiresSession: 'true' };

async function start(t: TestContext, settings: Record<string, string> = {}): Promise<TestBroker> {
  const broker = await startBroker(t);
  for (const name of ['in', 'out']) {
    expectStatus(await broker.createQueue(name, { ...SESSIONS, ...settings }), 201);
  }
  return broker;
}

function inSession(Body: string, SessionId: string, more: object = {}): object {
  return { Body, BrokerProperties: { SessionId, ...more } };
}

for (const partitioned of ['false', 'true']) {
  test(`#P10 a transaction settles messages of a session and sends to another queue (partitioned: ${partitioned})`, async (t) => {
    const broker = await start(t, { EnablePartitioning: partitioned });
    const batch = ['1', '2', '3', '4'].map((body) => inSession(body, 'a'));
    expectStatus(await broker.sendBatch('in', batch as never), 201);
    const session = await acceptSession(broker, 'in', 'a');
    const [one, two, three] = await session.peekLockMany(3);
    assert.ok(one && two && three);
    const sessionId = 'a';
    await commit(broker, [
      settling('complete', 'in', one, { sessionId }),
      settling('abandon', 'in', two, { sessionId }),
      settling('deadLetter', 'in', three, { sessionId, deadLetterReason: 'bad' }),
      sending('out', inSession('new', 'a', { ViaPartitionKey: 'a' })),
    ]);
    assert.deepEqual(bodies(await session.peekLockMany(10)), ['2', '4']);
    assert.deepEqual(bodies(await broker.peek('in/$deadletterqueue')), ['3']);
    const next = await acceptNext(broker, 'out');
    assert.equal(next?.id, 'a');
    assert.deepEqual(bodies(await next.peekLockMany(10)), ['new']);
  });
}

test('a transaction under an expired session lock is refused and changes nothing', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('in', '1', { SessionId: 'a' }), 201);
  const session = await acceptSession(broker, 'in', 'a');
  const [message] = await session.peekLockMany(1);
  assert.ok(message);
  broker.clock.advance({ seconds: 60 });
  const operations = [
    sending('out', inSession('new', 'a')),
    settling('complete', 'in', message, { sessionId: 'a' }),
  ];
  await requireRefused(t, broker, operations, {
    status: 410,
    code: 'SessionLockLost',
    operation: 1,
  });
  const again = await acceptSession(broker, 'in', 'a');
  await requireRefused(t, broker, operations, {
    status: 410,
    code: 'SessionLockLost',
    operation: 1,
  });
  assert.deepEqual(bodies(await again.peekLockMany(10)), ['1']);
});

test('U5 a refusal for a lost session lock is repeated under its id', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('in', '1', { SessionId: 'a' }), 201);
  const session = await acceptSession(broker, 'in', 'a');
  const [message] = await session.peekLockMany(1);
  assert.ok(message);
  await session.release();
  const operations = [
    sending('out', inSession('new', 'a')),
    settling('complete', 'in', message, { sessionId: 'a' }),
  ];
  for (let i = 0; i < 2; i++) {
    const answer = await transact(broker, operations, 'id');
    assert.equal(answer.status, 410, answer.text);
    const { code, operation, retryable } = refusalOf(answer);
    assert.deepEqual([code, operation, retryable], ['SessionLockLost', 1, false]);
  }
  const other = await transact(broker, operations.slice(1), 'id');
  assert.equal(refusalOf(other).code, 'InvalidOperation', other.text);
});

test('a transaction can settle a message whose session lock was renewed', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('in', '1', { SessionId: 'a' }), 201);
  const session = await acceptSession(broker, 'in', 'a');
  const [message] = await session.peekLockMany(1);
  assert.ok(message);
  broker.clock.advance({ seconds: 50 });
  await session.renew();
  broker.clock.advance({ seconds: 50 });
  await commit(broker, [settling('complete', 'in', message, { sessionId: 'a' })]);
  assert.deepEqual(await session.peek(), []);
});

test('a transaction refuses to renew or delay a single message of a session, and to settle it without the session', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('in', '1', { SessionId: 'a' }), 201);
  const session = await acceptSession(broker, 'in', 'a');
  const [message] = await session.peekLockMany(1);
  assert.ok(message);
  const refused = { status: 400, code: 'InvalidOperation', operation: 0 };
  for (const operation of [
    settling('renew', 'in', message, { sessionId: 'a' }),
    settling('abandon', 'in', message, { sessionId: 'a', delaySeconds: 5 }),
    settling('complete', 'in', message),
  ]) {
    await requireRefused(t, broker, [operation], refused);
  }
});

async function startWithDetection(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('in'), 201);
  for (const name of ['once', 'too']) {
    expectStatus(await broker.createQueue(name, { RequiresDuplicateDetection: 'true' }), 201);
  }
  return broker;
}

const known = (Body: string, MessageId: string): object => ({
  Body,
  BrokerProperties: { MessageId },
});

test('a transaction drops the duplicates among its messages and carries out the rest', async (t) => {
  const broker = await startWithDetection(t);
  expectStatus(await broker.sendBatch('in', [{ Body: '1' }, { Body: '2' }]), 201);
  expectStatus(await broker.send('once', 'old', { MessageId: 'a' }), 201);
  const [one, two] = await broker.peekLockMany('in', 2);
  assert.ok(one && two);
  await commit(broker, [
    settling('complete', 'in', one),
    sending('once', known('again', 'a'), known('new', 'b'), known('repeated', 'b')),
    sending('too', known('other', 'a')),
  ]);
  await commit(broker, [settling('complete', 'in', two), sending('once', known('again', 'b'))]);
  assert.deepEqual(bodies(await broker.peek('in')), []);
  assert.deepEqual(bodies(await broker.peek('once')), ['old', 'new']);
  assert.deepEqual(bodies(await broker.peek('too')), ['other']);
  // Conversely, a later send of a message that a transaction sent is a duplicate.
  expectStatus(await broker.send('too', 'late', { MessageId: 'a' }), 201);
  assert.deepEqual(bodies(await broker.peek('too')), ['other']);
});

test('a message of a refused transaction is not a duplicate when it is sent again', async (t) => {
  const broker = await startWithDetection(t);
  expectStatus(await broker.send('in', '1'), 201);
  const message = await broker.peekLock('in');
  assert.ok(message);
  assert.equal(await broker.complete(message), 200);
  const operations = [
    settling('complete', 'in', message),
    sending('once', known('x', 'a'), known('y', 'b')),
    sending('too', known('z', 'a')),
  ];
  // Deduplication records of a batch that was not stored may remain; they are ignored.
  expectStatus(await transact(broker, operations), 404);
  expectStatus(await broker.sendBatch('once', [known('x', 'a'), known('y', 'b')] as never), 201);
  assert.deepEqual(bodies(await broker.peek('once')), ['x', 'y']);
});

test('concurrent transactions that send the same message store it once', async (t) => {
  const broker = await startWithDetection(t);
  const twin = await startBroker(t, { beside: broker });
  const copies = Array.from({ length: 8 }, (_, i) =>
    commit(i % 2 === 0 ? broker : twin, [
      sending('once', known('x', 'a'), known('y', `b${i}`)),
      sending('too', known('z', 'a'), known(`own ${i}`, `c${i}`)),
    ]),
  );
  await Promise.all(copies);
  assert.equal(bodies(await broker.peek('once')).filter((body) => body === 'x').length, 1);
  assert.equal(bodies(await broker.peek('once')).filter((body) => body === 'y').length, 8);
  const too = bodies(await broker.peek('too'));
  assert.equal(too.filter((body) => body === 'z').length, 1);
  assert.equal(too.length, 9);
});

test('one transaction can send to a session directly, through a forwarding queue and through a topic', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('via', { ForwardTo: 'out' }), 201);
  await createTopic(broker);
  for (const name of ['one', 'two']) {
    await createSubscription(broker, subscription(name), { ForwardTo: 'out' });
  }
  await commit(broker, [
    sending('out', inSession('sent', 'a')),
    sending('via', inSession('forwarded', 'a')),
    sending('t', inSession('published', 'a')),
  ]);
  const session = await acceptNext(broker, 'out');
  assert.equal(session?.id, 'a');
  const received = bodies(await session.peekLockMany(10));
  assert.deepEqual([...received].sort(), ['forwarded', 'published', 'published', 'sent']);
});
