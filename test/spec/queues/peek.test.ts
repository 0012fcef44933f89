import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  instant,
  lock,
  lockAndSettle,
  messageOf,
  numbers,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

const KB = 1024;

const named = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);

const states = (messages: readonly Received[]) =>
  messages.map(({ body, broker: { State } }) => `${body} ${State}`);

/** Peeks page by page until the end, as a client with a cursor does. */
async function peekAll(broker: TestBroker, max?: number): Promise<Received[]> {
  const all: Received[] = [];
  for (;;) {
    const last = all.at(-1)?.broker.SequenceNumber ?? 0;
    const page = await broker.peek('q', { from: last + 1, ...(max === undefined ? {} : { max }) });
    if (page.length === 0) return all;
    all.push(...page);
  }
}

test('#72 peek starts at the given sequence number or the next higher one, and shows nothing past the end', async (t) => {
  const broker = await startQueue(t, {}, '1', '2', '3', '4', '5');
  assert.deepEqual(numbers(await broker.peek('q', { from: 3, max: 2 })), [3, 4]);
  assert.deepEqual(await broker.peek('q', { from: 6 }), []);
  assert.deepEqual(numbers(await broker.peek('q', { from: 0 })), [1, 2, 3, 4, 5]);
  const [, two, three] = await broker.peekLockMany('q', 3);
  assert.ok(two && three);
  for (const message of [two, three]) await settleOne(broker, message, 'complete');
  assert.deepEqual(numbers(await broker.peek('q', { from: 2 })), [4, 5]);
  assert.deepEqual(numbers(await broker.peek('q', { max: 2 })), [1, 4]);
});

test('#72 peek starts at the given sequence number inside a batch from which messages were removed', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, named(60));
  const held = await broker.peekLockMany('q', 60);
  const gone = held.filter((_, i) => i % 5 === 0);
  await broker.settle(
    'q',
    gone.map((message) => settlementOf(message, 'complete')),
  );
  const left = numbers(held.filter((_, i) => i % 5 !== 0));
  for (const from of [1, 2, 6, 23, 24, 25, 26, 47, 49, 56, 60, 61]) {
    const expected = left.filter((number) => number >= from);
    assert.deepEqual(numbers(await broker.peek('q', { from })), expected, `from ${from}`);
    assert.deepEqual(numbers(await broker.peek('q', { from, max: 3 })), expected.slice(0, 3));
  }
});

test('#73 peek shows a locked message as if it were not locked', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const before = await broker.peek('q');
  const message = await lock(broker);
  const during = await broker.peek('q');
  assert.deepEqual(during, before);
  assert.equal(during[0]?.broker.DeliveryCount, 0);
  assert.equal(await broker.abandon(message), 200);
  assert.equal((await broker.peek('q'))[0]?.broker.DeliveryCount, 1);
});

test('#74 peek neither locks nor removes a message, nor counts as a delivery', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  for (let i = 0; i < 3; i++) {
    const [shown] = await broker.peek('q');
    assert.ok(shown);
    assert.equal(shown.broker.LockToken, undefined);
    assert.equal(shown.broker.LockedUntilUtc, undefined);
    assert.equal(shown.location, undefined);
  }
  const message = await lock(broker);
  assert.equal(message.broker.DeliveryCount, 1);
  assert.equal(await broker.complete(message), 200);
  assert.deepEqual(await broker.peek('q'), []);
});

test('peek shows body, broker properties and application properties of a message', async (t) => {
  const broker = await startQueue(t);
  const BrokerProperties = { MessageId: 'm', Label: 'l', TimeToLive: 60, CorrelationId: 'c' };
  const UserProperties = { text: 'ä', number: 1.5, flag: true };
  await sendTogether(broker, [{ Body: 'höher', BrokerProperties, UserProperties }]);
  const [shown] = await broker.peek('q');
  assert.deepEqual([shown?.body, shown?.properties], ['höher', UserProperties]);
  assert.deepEqual(shown?.broker, {
    CorrelationId: 'c',
    DeliveryCount: 0,
    EnqueuedSequenceNumber: 0,
    EnqueuedTimeUtc: instant({ seconds: 0 }),
    ExpiresAtUtc: instant({ seconds: 60 }),
    Label: 'l',
    MessageId: 'm',
    SequenceNumber: 1,
    State: 'Active',
    TimeToLive: 60,
  });
});

test('#75 peek shows messages of all states in order of their numbers, without dead letters', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  const later = { ScheduledEnqueueTimeUtc: instant({ seconds: 3600 }) };
  await sendTogether(broker, ['deferred', 'dead']);
  await sendTogether(broker, [messageOf('scheduled', later)]);
  await sendTogether(broker, ['abandoned', 'active', 'changed', 'delayed', 'locked']);
  const [deferred, dead, back, active, changed, delayed] = await broker.peekLockMany('q', 10);
  assert.ok(deferred && dead && back && active && changed && delayed);
  await broker.settle('q', [
    settlementOf(deferred, 'defer'),
    settlementOf(dead, 'deadLetter'),
    settlementOf(back, 'abandon'),
    settlementOf(active, 'abandon'),
    settlementOf(changed, 'abandon', { properties: { tries: 1 } }),
    settlementOf(delayed, 'abandon', { delaySeconds: 60 }),
  ]);
  const expected = [
    'deferred Deferred',
    'scheduled Scheduled',
    'abandoned Active',
    'active Active',
    'changed Active',
    'delayed Active',
    'locked Active',
  ];
  assert.deepEqual(states(await broker.peek('q')), expected);
  assert.deepEqual(numbers(await broker.peek('q')), [1, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(states(await peekAll(broker, 1)), expected);
  assert.deepEqual(states(await peekAll(broker, 2)), expected);
  assert.deepEqual(states(await broker.peek(DEAD)), ['dead Active']);
});

test('pages of any size show each of hundreds of messages in all states once, in order', async (t) => {
  const broker = await startQueue(t);
  const later = { ScheduledEnqueueTimeUtc: instant({ seconds: 3600 }) };
  for (let i = 0; i < 3; i++) {
    await sendTogether(broker, named(100));
    await sendTogether(
      broker,
      named(10).map((body) => messageOf(body, later)),
    );
  }
  const held = await broker.peekLockMany('q', 300);
  const ways = ['defer', 'complete', 'abandon', undefined, 'abandon'] as const;
  await broker.settle(
    'q',
    held.flatMap((message, i) => {
      const way = ways[i % 5];
      if (way === undefined) return [];
      return [settlementOf(message, way, i % 5 === 4 ? { properties: { i } } : {})];
    }),
  );
  const gone = new Set(numbers(held.filter((_, i) => i % 5 === 1)));
  const expected = Array.from({ length: 330 }, (_, i) => i + 1).filter((n) => !gone.has(n));
  for (const max of [1000, 250, 99, 7]) {
    assert.deepEqual(numbers(await peekAll(broker, max)), expected, `pages of ${max}`);
  }
});

test('#76 one peek shows at most 250 messages, even if maxMessages is larger', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, named(600));
  for (const query of ['', '?maxMessages=250', '?maxMessages=1000']) {
    const answer = await broker.request('GET', `q/messages${query}`);
    expectStatus(answer, 200);
    assert.equal(answer.json<unknown[]>().length, 250, query);
  }
  assert.equal((await peekAll(broker)).length, 600);
});

test('#76 one peek shows at most 256 KB, and further pages show the rest', async (t) => {
  const broker = await startQueue(t);
  const body = () => randomBytes(30 * KB).toString('base64');
  const sent = Array.from({ length: 20 }, body);
  for (const text of sent) expectStatus(await broker.send('q', text), 201);
  const page = await broker.peek('q');
  const bytes = page.reduce((sum, { body: text }) => sum + text.length, 0);
  assert.ok(page.length > 1 && bytes <= 256 * KB, `${page.length} messages of ${bytes} bytes`);
  assert.deepEqual(bodies(await peekAll(broker)), sent);
});

test('#76 peek shows a message of more than 256 KB alone', async (t) => {
  const broker = await startQueue(t, { MaxMessageSizeInKilobytes: '1024' }, 'small');
  const large = randomBytes(300 * KB).toString('base64');
  expectStatus(await broker.send('q', large), 201);
  expectStatus(await broker.send('q', 'last'), 201);
  assert.deepEqual(bodies(await broker.peek('q')), ['small']);
  assert.deepEqual(bodies(await broker.peek('q', { from: 2 })), [large]);
  assert.deepEqual(bodies(await broker.peek('q', { from: 3 })), ['last']);
});

test('a peek into an empty queue shows an empty list', async (t) => {
  const broker = await startQueue(t);
  assert.deepEqual(await broker.peek('q'), []);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('peek shows the latest changes by another process', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const other = await startBroker(t, { beside: broker });
  assert.deepEqual(bodies(await other.peek('q')), ['a']);
  await lockAndSettle(broker, 'defer');
  expectStatus(await broker.send('q', 'b'), 201);
  assert.deepEqual(states(await other.peek('q')), ['a Deferred', 'b Active']);
});

test('peek shows a scheduled message that is due as active, with its new sequence number', async (t) => {
  const broker = await startQueue(t);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  await sendTogether(broker, [messageOf('a', at)]);
  expectStatus(await broker.send('q', 'b'), 201);
  assert.deepEqual(states(await broker.peek('q')), ['a Scheduled', 'b Active']);
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual(states(await broker.peek('q')), ['b Active', 'a Active']);
  assert.deepEqual(numbers(await broker.peek('q')), [2, 3]);
});
