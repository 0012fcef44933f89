import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { token } from '../../support/atom-client.ts';
import { crashingClient } from '../../support/crashing-client.ts';
import { fill, LARGE } from '../../support/full-entity.ts';
import { getJson, putJson } from '../../support/json-management.ts';
import { SMALL_ENTITIES } from '../../support/small-limits.ts';
import { type StartOptions, startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createRuledSubscription,
  createSubscription,
  createTopic,
  deadLettersOf,
  sql,
} from '../../support/topic-entities.ts';
import { bodies, DEAD, settlementOf } from './queue.ts';

/** Dead letters that go to another queue or topic (docs/semantics/receiving.md, L21). */

interface Sent {
  readonly body: string;
  readonly broker?: Record<string, unknown>;
}

const named = (count: number) => Array.from({ length: count }, (_, i) => ({ body: `m${i}` }));

/** A queue `q` with these dead letters, and an empty queue `other`. */
async function start(t: TestContext, sent: readonly Sent[] = named(3), options: StartOptions = {}) {
  const broker = await startBroker(t, options);
  for (const name of ['q', 'other']) expectStatus(await broker.createQueue(name), 201);
  if (sent.length > 0) await fillDeadLetters(broker, sent);
  return broker;
}

async function fillDeadLetters(broker: TestBroker, sent: readonly Sent[]): Promise<void> {
  const messages = sent.map(({ body, broker: properties }) => ({
    Body: body,
    BrokerProperties: properties ?? {},
    UserProperties: { mine: 1 },
  }));
  expectStatus(await broker.sendBatch('q', messages), 201);
  const held = await broker.peekLockMany('q', sent.length);
  const reason = { deadLetterReason: 'bad', deadLetterErrorDescription: 'why' };
  await broker.settle(
    'q',
    held.map((one) => settlementOf(one, 'deadLetter', reason)),
  );
}

const resubmit = (broker: TestBroker, to: string, which: Readonly<Record<string, unknown>> = {}) =>
  broker.post(DEAD, '$resubmit', { ...which, to });

async function moved(broker: TestBroker, to: string, which?: Readonly<Record<string, unknown>>) {
  const answer = await resubmit(broker, to, which);
  expectStatus(answer, 200);
  return answer.json<{ resubmitted: number }>().resubmitted;
}

/** Requires a refusal, after which all dead letters are where they were. */
async function requireRefused(
  broker: TestBroker,
  to: string,
  [status, code, sentence]: readonly [number, string, RegExp],
): Promise<void> {
  const before = bodies(await broker.peek(DEAD));
  assert.ok(before.length > 0);
  const answer = await resubmit(broker, to);
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get('x-dynabus-error'), code);
  assert.match(answer.text, sentence);
  assert.deepEqual(bodies(await broker.peek(DEAD)), before);
}

test('dead letters are new messages of the other queue, in order, without the reason', async (t) => {
  const broker = await start(t, [{ body: 'a', broker: { MessageId: 'm' } }, { body: 'b' }]);
  assert.equal(await moved(broker, 'Other'), 2);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.deepEqual(await broker.peek('q'), []);
  const received = await broker.peekLockMany('other', 10);
  assert.deepEqual(bodies(received), ['a', 'b']);
  const [first] = received;
  assert.deepEqual(first?.properties, { mine: 1 });
  const { MessageId, SequenceNumber, DeliveryCount, DeadLetterSource } = first.broker;
  assert.deepEqual(
    [MessageId, SequenceNumber, DeliveryCount, DeadLetterSource],
    ['m', 1, 1, undefined],
  );
});

test('only as many go as maxMessages says, or those that are named; locked ones stay', async (t) => {
  const broker = await start(t, named(6));
  const held = await broker.peekLock(DEAD);
  assert.equal(await moved(broker, 'other', { maxMessages: 2 }), 2);
  assert.deepEqual(bodies(await broker.peek('other')), ['m1', 'm2']);
  assert.equal(await moved(broker, 'other', { sequenceNumbers: [1, 5, 77] }), 1);
  assert.deepEqual(bodies(await broker.peek('other')), ['m1', 'm2', 'm4']);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['m0', 'm3', 'm5']);
  assert.ok(held);
  assert.equal(await broker.complete(held), 200);
  // Its own main queue is a destination as any other.
  assert.equal(await moved(broker, 'Q'), 2);
  assert.deepEqual(bodies(await broker.peek('q')), ['m3', 'm5']);
});

test('dead letters of a partitioned queue go to a partitioned one', async (t) => {
  const broker = await startBroker(t);
  for (const name of ['q', 'other']) {
    expectStatus(await broker.createQueue(name, { EnablePartitioning: 'true' }), 201);
  }
  const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
  for (const key of keys) expectStatus(await broker.send('q', key, { PartitionKey: key }), 201);
  for (
    let held = await broker.peekLockMany('q', 20);
    held.length > 0;
    held = await broker.peekLockMany('q', 20)
  ) {
    await broker.settle(
      'q',
      held.map((one) => settlementOf(one, 'deadLetter')),
    );
  }
  assert.equal(await moved(broker, 'other', { maxMessages: 5 }), 5);
  assert.equal(await moved(broker, 'other'), 7);
  assert.deepEqual(bodies(await broker.peek('other')).sort(), [...keys].sort());
});

test('a topic passes them on by its rules; what no subscription matches stays', async (t) => {
  const broker = await start(t, [
    { body: 'a', broker: { Label: 'x' } },
    { body: 'b', broker: { Label: 'y' } },
    ...Array.from({ length: 15 }, (_, i) => ({ body: `c${i}`, broker: { Label: 'x' } })),
  ]);
  await createTopic(broker);
  for (const name of ['one', 'two']) {
    const rules = { only: { filter: sql("sys.Label = 'x'") } };
    await createRuledSubscription(broker, `t/subscriptions/${name}`, rules);
  }
  assert.equal(await moved(broker, 't'), 16);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['b']);
  for (const name of ['one', 'two']) {
    const found = bodies(await broker.peek(`t/subscriptions/${name}`));
    assert.deepEqual(found, ['a', ...Array.from({ length: 15 }, (_, i) => `c${i}`)]);
  }
  await requireRefused(broker, 't', [404, 'NoMatchingSubscription', /they stay where they are/]);
});

test('the dead letters of a subscription go to a queue', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  expectStatus(await broker.send('t', 'copy'), 201);
  const held = await broker.peekLockMany('t/subscriptions/s', 1);
  await broker.settle(
    't/subscriptions/s',
    held.map((one) => settlementOf(one, 'deadLetter')),
  );
  const dead = deadLettersOf('t/subscriptions/s');
  await broker.post(dead, '$resubmit', { to: 'other' }, 200);
  assert.deepEqual(bodies(await broker.peek('other')), ['copy']);
  assert.deepEqual(await broker.peek(dead), []);
});

test('a queue that forwards passes them on, also messages that were forwarded four times before', async (t) => {
  const broker = await start(t);
  for (let i = 0; i < 4; i++) {
    const to = i === 0 ? 'other' : `hop${i - 1}`;
    expectStatus(await broker.createQueue(`hop${i}`, { ForwardTo: to }), 201);
  }
  expectStatus(await broker.send('hop3', 'far'), 201);
  const held = await broker.peekLockMany('other', 1);
  await broker.settle(
    'other',
    held.map((one) => settlementOf(one, 'deadLetter')),
  );
  await broker.post(deadLettersOf('other'), '$resubmit', { to: 'hop2' }, 200);
  assert.deepEqual(bodies(await broker.peek('other')), ['far']);
});

test('a queue with sessions takes those that have a session id', async (t) => {
  const broker = await start(t, [{ body: 'a', broker: { SessionId: 's' } }, { body: 'b' }]);
  expectStatus(await broker.createQueue('sessions', { RequiresSession: 'true' }), 201);
  assert.equal(await moved(broker, 'sessions'), 1);
  assert.equal((await getJson(broker, 'sessions'))['activeMessageCount'], 1);
  await requireRefused(broker, 'sessions', [400, 'InvalidOperation', /requires sessions/]);
});

test('a destination that cannot have them is refused, and they stay', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  for (const status of ['Disabled', 'SendDisabled']) {
    expectStatus(await broker.createQueue(status, { Status: status }), 201);
    await requireRefused(broker, status, [403, 'MessagingEntityDisabled', /is currently disabled/]);
  }
  await requireRefused(broker, 'nobody', [410, 'MessagingEntityNotFound', /could not be found/]);
  await requireRefused(broker, 't/subscriptions/s', [400, 'InvalidOperation', /subscription/]);
  await requireRefused(broker, DEAD, [
    400,
    'InvalidOperation',
    /cannot be sent to a dead-letter queue/,
  ]);
  await requireRefused(broker, deadLettersOf('other'), [
    400,
    'InvalidOperation',
    /cannot be sent to a dead-letter/,
  ]);
  await requireRefused(broker, 'a b', [400, 'ArgumentError', /a b/]);
  await requireRefused(broker, '', [400, 'ArgumentError', /to is too/]);
});

test('a full destination is refused, and they stay', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium', limits: SMALL_ENTITIES });
  for (const name of ['q', 'full']) {
    expectStatus(await broker.createQueue(name, { MaxSizeInMegabytes: '1024', ...LARGE }), 201);
  }
  const { bytesPerMegabyte: megabyte } = SMALL_ENTITIES;
  await fillDeadLetters(broker, [{ body: 'x'.repeat(3 * megabyte) }]);
  await fill(broker, 'full');
  expectStatus(await broker.send('full', Buffer.alloc(32 * megabyte)), 201);
  await requireRefused(broker, 'full', [403, 'QuotaExceeded', /The maximum entity size/]);
});

test('a destination that was deleted and created again gets them', async (t) => {
  const broker = await start(t);
  const beside = await startBroker(t, { beside: broker });
  assert.equal(await moved(broker, 'other', { maxMessages: 1 }), 1);
  expectStatus(await beside.request('DELETE', 'other'), 200);
  expectStatus(await beside.createQueue('other'), 201);
  assert.equal(await moved(broker, 'other'), 2);
  assert.deepEqual(bodies(await beside.peek('other')), ['m1', 'm2']);
});

test('it needs Manage on the source and Send on the destination, by one token', async (t) => {
  const broker = await startBroker(t);
  const key = 'K'.repeat(44);
  const policy = (...accessRights: readonly string[]) => ({
    kind: 'queue',
    authorizationRules: [{ keyName: 'k', accessRights, primaryKey: key }],
  });
  expectStatus(await putJson(broker, 'q', policy('Manage', 'Send', 'Listen')), 201);
  expectStatus(await putJson(broker, 'other', policy('Listen')), 201);
  expectStatus(await putJson(broker, 'more', policy('Send')), 201);
  await fillDeadLetters(broker, named(1));
  const authorization = token('', { keyName: 'k', key });
  const call = (to: string) =>
    broker.request('POST', `${DEAD}/messages/$resubmit`, {
      authorization,
      body: JSON.stringify({ to }),
    });
  for (const to of ['other', 'nobody']) expectStatus(await call(to), 401);
  assert.equal((await broker.peek(DEAD)).length, 1);
  expectStatus(await call('more'), 200);
});

for (const when of ['before it', 'after it'] as const) {
  for (const to of ['other', 't'] as const) {
    test(`a crash at any write, ${when}, neither loses nor doubles a message on its way to '${to}'`, async (t) => {
      const { client, crashAt, restart } = crashingClient();
      t.after(() => client.destroy());
      const broker = await start(t, [], { client });
      const beside = await startBroker(t, { beside: broker });
      await createTopic(beside);
      await createSubscription(beside, 't/subscriptions/s');
      const at = to === 't' ? 't/subscriptions/s' : to;
      let crashes = 0;
      for (let write = 1; ; write++) {
        assert.ok(write < 20, 'a resubmission makes fewer writes');
        await fillDeadLetters(beside, [{ body: `a${write}` }, { body: `b${write}` }]);
        crashAt(write, when);
        await resubmit(broker, to);
        const isCrashed = restart();
        const there = bodies(await beside.peek(at));
        const left = bodies(await beside.peek(DEAD));
        assert.deepEqual([...there, ...left].sort(), [`a${write}`, `b${write}`]);
        for (const path of [at, DEAD]) await beside.purge(path);
        if (!isCrashed) break;
        crashes++;
      }
      assert.ok(crashes >= 2);
    });
  }
}

test('two resubmissions at the same time send each message once', async (t) => {
  const broker = await start(t, named(60));
  const beside = await startBroker(t, { beside: broker });
  const counts = await Promise.all([
    moved(broker, 'other', { maxMessages: 40 }),
    moved(beside, 'other', { maxMessages: 40 }),
    moved(broker, 'other', { maxMessages: 40 }),
  ]);
  const there = bodies(await beside.peek('other'));
  assert.equal(new Set(there).size, there.length);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    there.length,
  );
  assert.equal(there.length + (await beside.peek(DEAD)).length, 60);
});
