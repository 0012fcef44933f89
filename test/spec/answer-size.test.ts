import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startLambdaBroker } from '../support/lambda-broker.ts';
import { StoredItems } from '../support/stored-items.ts';
import {
  type BatchMessage,
  expectStatus,
  type Received,
  type TestBroker,
} from '../support/test-broker.ts';
import { acceptSession } from '../support/test-session.ts';
import { createSubscription, createTopic, deadLettersOf } from '../support/topic-entities.ts';
import { createPartitioned } from './partitioned.ts';

/** Answers through Lambda, which refuses a result of more than 6 MB after the messages were claimed. */

const KB = 1024;
const MODES = ['peekLock', 'receiveAndDelete'] as const;

type Take = (broker: TestBroker) => Promise<readonly Received[]>;

const takeFrom = (path: string, mode: (typeof MODES)[number]): Take =>
  mode === 'peekLock'
    ? (broker) => broker.peekLockMany(path, 1000)
    : (broker) => broker.receiveAndDeleteMany(path, 1000);

/** Receives until nothing is left; returns the ids, in the order in which they came. */
async function drain(broker: TestBroker, take: Take): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const messages = await take(broker);
    if (messages.length === 0) return ids;
    ids.push(...messages.map((message) => message.broker.MessageId));
  }
}

/** Messages with ids of their own, sent in batches of what a batch may hold. */
async function fill(
  broker: TestBroker,
  path: string,
  messages: readonly BatchMessage[],
  perBatch: number,
): Promise<readonly string[]> {
  const named = messages.map((message, i) => ({
    ...message,
    BrokerProperties: { MessageId: `m${i}`, ...message.BrokerProperties },
  }));
  for (let i = 0; i < named.length; i += perBatch) {
    expectStatus(await broker.sendBatch(path, named.slice(i, i + perBatch)), 201);
  }
  return named.map((message) => message.BrokerProperties.MessageId);
}

const times = (count: number, make: (i: number) => BatchMessage): readonly BatchMessage[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Short names and values that print long. */
const manyProperties = Object.fromEntries(
  Array.from({ length: 160 }, (_, i) => [
    String.fromCharCode(1 + (i % 31), 40 + (i % 80)),
    i % 2 === 0 ? { $bytes: '' } : { $char: '\u0001' },
  ]),
);

const BODIES = {
  quotes: { messages: times(12, () => ({ Body: '"'.repeat(255 * KB) })), perBatch: 4 },
  'control characters': {
    messages: times(12, () => ({ Body: '\u0001'.repeat(255 * KB) })),
    perBatch: 4,
  },
  'small control characters': {
    messages: times(900, () => ({ Body: '\u0001'.repeat(2 * KB) })),
    perBatch: 450,
  },
  'binary bytes': {
    messages: times(13, () => ({
      Body: randomBytes(255 * KB).toString('base64'),
      BodyEncoding: 'base64' as const,
    })),
    perBatch: 4,
  },
  'next to nothing, a thousand times,': {
    messages: times(1000, () => ({ Body: '', UserProperties: manyProperties })),
    perBatch: 500,
  },
};

for (const mode of MODES) {
  for (const [what, { messages, perBatch }] of Object.entries(BODIES)) {
    test(`${mode}: bodies of ${what} all come, in answers that Lambda takes`, async (t) => {
      const { broker, requireResultsFit } = await startLambdaBroker(t);
      expectStatus(await broker.createQueue('q'), 201);
      const sent = await fill(broker, 'q', messages, perBatch);
      assert.deepEqual(await drain(broker, takeFrom('q', mode)), sent);
      requireResultsFit();
    });
  }

  test(`${mode}: a subscription hands out everything in answers that Lambda takes`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    await createTopic(broker);
    await createSubscription(broker, 't/subscriptions/a');
    await createSubscription(broker, 't/subscriptions/b');
    const { messages, perBatch } = BODIES['small control characters'];
    const sent = await fill(broker, 't', messages, perBatch);
    for (const name of ['a', 'b']) {
      assert.deepEqual(await drain(broker, takeFrom(`t/subscriptions/${name}`, mode)), sent);
    }
    requireResultsFit();
  });

  test(`${mode}: a partitioned queue hands out everything in answers that Lambda takes`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await createPartitioned(broker, 'p'), 201);
    const messages = times(16, (i) => ({
      Body: '\u0001'.repeat(250 * KB),
      BrokerProperties: { PartitionKey: `key-${i}` },
    }));
    const sent = await fill(broker, 'p', messages, 1);
    const ids = await drain(broker, takeFrom('p', mode));
    assert.deepEqual([...ids].sort(), [...sent].sort());
    requireResultsFit();
  });

  test(`${mode}: a session hands out everything in order, in answers that Lambda takes`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q', { RequiresSession: 'true' }), 201);
    const messages = times(400, () => ({
      Body: '\u0001'.repeat(2 * KB),
      BrokerProperties: { SessionId: 's' },
    }));
    const sent = await fill(broker, 'q', messages, 200);
    const session = await acceptSession(broker, 'q', 's');
    const take = () =>
      mode === 'peekLock' ? session.peekLockMany(1000) : session.receiveAndDeleteMany(1000);
    assert.deepEqual(await drain(broker, take), sent);
    requireResultsFit();
  });

  test(`${mode}: dead letters with long reasons all come, in answers that Lambda takes`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    const sent = await fill(
      broker,
      'q',
      times(300, () => ({ Body: '' })),
      300,
    );
    const locked = await broker.peekLockMany('q', 1000);
    assert.equal(locked.length, 300);
    const outcomes = await broker.settle(
      'q',
      locked.map((message) => ({
        lockToken: message.broker.LockToken,
        outcome: 'deadLetter',
        deadLetterReason: '\u0001'.repeat(4000),
        properties: { p: '"'.repeat(10_000) },
      })),
    );
    assert.ok(outcomes.every(({ settled }) => settled));
    assert.deepEqual(await drain(broker, takeFrom(deadLettersOf('q'), mode)), sent);
    requireResultsFit();
  });
}

for (const mode of MODES) {
  test(`${mode}: dead letters of one block that together are too long all come`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    const sent = await fill(
      broker,
      'q',
      times(68, () => ({ Body: '' })),
      68,
    );
    // The first block as a whole, whose payload changes hands; of the second some, which are copied.
    const locked = await broker.peekLockMany('q', 54);
    const outcomes = await broker.settle(
      'q',
      locked.map((message) => ({
        lockToken: message.broker.LockToken,
        outcome: 'deadLetter',
        deadLetterReason: '\u0001'.repeat(4000),
        deadLetterErrorDescription: '\u0001'.repeat(4000),
        properties: { p: '"'.repeat(32_000), q: '"'.repeat(32_000) },
      })),
    );
    assert.ok(outcomes.every(({ settled }) => settled));
    const ids = await drain(broker, takeFrom(deadLettersOf('q'), mode));
    assert.deepEqual(ids, sent.slice(0, 54));
    requireResultsFit();
  });

  test(`${mode}: messages stored before blocks told what they print all come`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    // Of the large ones, the bound alone would say that none fits.
    const messages = [
      ...times(300, () => ({ Body: '\u0001'.repeat(2 * KB) })),
      ...times(6, () => ({ Body: '"'.repeat(255 * KB) })),
      ...times(6, () => ({ Body: 'x'.repeat(255 * KB), UserProperties: manyProperties })),
    ];
    const sent = await fill(broker, 'q', messages.slice(0, 300), 300);
    const large = messages.slice(300).map((message, i) => ({
      ...message,
      BrokerProperties: { MessageId: `large${i}` },
    }));
    const all = [...sent, ...(await fill(broker, 'q', large, 3))];
    const items = new StoredItems(broker);
    t.after(() => items.close());
    assert.ok((await items.forgetPrintedBytes(await items.idOf('q'))) > 10);
    assert.deepEqual(await drain(broker, takeFrom('q', mode)), all);
    requireResultsFit();
  });
}

test('an answer ends before a message of a session that no longer fits, and leaves out none', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await broker.createQueue('q', { RequiresSession: 'true' }), 201);
  const inSession = (id: string, kilobytes: number): BatchMessage => ({
    Body: '\u0001'.repeat(kilobytes * KB),
    BrokerProperties: { SessionId: 's', MessageId: id },
  });
  for (const [id, kilobytes] of [
    ['a', 250],
    ['b', 250],
    ['c', 90],
  ] as const) {
    expectStatus(await broker.sendBatch('q', [inSession(id, kilobytes)]), 201);
  }
  // The three lie in one block, of which `e` is put back into one of its own.
  const together = ['d', 'e', 'f'].map((id) => inSession(id, 20));
  expectStatus(await broker.sendBatch('q', together), 201);
  const first = await acceptSession(broker, 'q', 's');
  const locked: Received[] = [];
  await drain(broker, async () => {
    const messages = await first.peekLockMany(1000);
    locked.push(...messages);
    return messages;
  });
  const e = locked.find((message) => message.broker.MessageId === 'e');
  assert.ok(e);
  const lockToken = e.broker.LockToken;
  const [outcome] = await first.settle([
    { lockToken, outcome: 'abandon', properties: { tried: true } },
  ]);
  assert.equal(outcome?.settled, true);
  await first.release();

  const second = await acceptSession(broker, 'q', 's');
  const answers: string[] = [];
  const ids = await drain(broker, async () => {
    const messages = await second.receiveAndDeleteMany(1000);
    answers.push(messages.map((message) => message.broker.MessageId).join(''));
    return messages;
  });
  assert.equal(ids.join(''), 'abcdef');
  // Otherwise this test shows nothing.
  assert.equal(answers[0], 'abcd');
  requireResultsFit();
});

test('a thousand tiny messages still come in one answer', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  await fill(
    broker,
    'q',
    times(1000, (i) => ({ Body: `order ${i}`, UserProperties: { kind: 'order', place: i } })),
    1000,
  );
  assert.equal((await broker.peekLockMany('q', 1000)).length, 1000);
  requireResultsFit();
});

test('a token longer than any is refused, and not repeated a thousand times', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const settlements = Array.from({ length: 1000 }, () => ({
    lockToken: 'x'.repeat(6000),
    outcome: 'complete',
  }));
  expectStatus(await broker.post('q', '$settle', { settlements }), 400);
  const lockTokens = settlements.map(({ lockToken }) => lockToken);
  expectStatus(await broker.post('q', '$renew', { lockTokens }), 400);
  requireResultsFit();
});

test('a thousand outcomes and a full answer of messages fit together', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const sent = await fill(broker, 'q', BODIES['small control characters'].messages, 450);
  const lost = '00000000-0000-0000-0000-000000000000';
  const settlements = Array.from({ length: 1000 }, () => ({
    lockToken: lost,
    outcome: 'complete',
  }));
  const ids = await drain(broker, async () => {
    const answer = await broker.request('DELETE', 'q/messages/head?maxMessages=1000', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ settlements }),
    });
    expectStatus(answer, 200);
    const read = answer.json<{ settlements: unknown[]; messages: { BrokerProperties: never }[] }>();
    assert.equal(read.settlements.length, 1000);
    return read.messages.map(({ BrokerProperties }) => ({
      body: '',
      broker: BrokerProperties,
      properties: {},
    }));
  });
  assert.deepEqual(ids, sent);
  requireResultsFit();
});
