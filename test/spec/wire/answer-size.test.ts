import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startLambdaBroker } from '../../support/lambda-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptSession } from '../../support/test-session.ts';
import { createSubscription, createTopic, deadLettersOf } from '../../support/topic-entities.ts';
import { createPartitioned } from '../partitions/partitioned.ts';
import { drain, fill, KB, MODES, manyProperties, takeFrom, times } from './answers.ts';

/**
 * Responses through Lambda, which refuses a result of more than 6 MB, after the messages are claimed. What a test sends
 * prints longer than that, so that it needs several responses.
 */

/** Messages without a body, in one batch. */
const EMPTY = isMore() ? 300 : 200;

const BODIES = {
  quotes: { messages: times(12, () => ({ Body: '"'.repeat(255 * KB) })), perBatch: 4 },
  'control characters': {
    messages: times(isMore() ? 12 : 6, () => ({ Body: '\u0001'.repeat(255 * KB) })),
    perBatch: 4,
  },
  'small control characters': {
    messages: times(isMore() ? 900 : 600, () => ({ Body: '\u0001'.repeat(2 * KB) })),
    perBatch: 300,
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
    test(`${mode}: all bodies of ${what} are received, in responses that Lambda accepts`, async (t) => {
      const { broker, requireResultsFit } = await startLambdaBroker(t);
      expectStatus(await broker.createQueue('q'), 201);
      const sent = await fill(broker, 'q', messages, perBatch);
      assert.deepEqual(await drain(broker, takeFrom('q', mode)), sent);
      requireResultsFit();
    });
  }

  test(`${mode}: a subscription delivers everything in responses that Lambda accepts`, async (t) => {
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

  test(`${mode}: a partitioned queue delivers everything in responses that Lambda accepts`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await createPartitioned(broker, 'p'), 201);
    const messages = times(isMore() ? 16 : 8, (i) => ({
      Body: '\u0001'.repeat(250 * KB),
      BrokerProperties: { PartitionKey: `key-${i}` },
    }));
    const sent = await fill(broker, 'p', messages, 1);
    const ids = await drain(broker, takeFrom('p', mode));
    assert.deepEqual([...ids].sort(), [...sent].sort());
    requireResultsFit();
  });

  test(`${mode}: a session delivers everything in order, in responses that Lambda accepts`, async (t) => {
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

  test(`${mode}: all dead letters with long reasons are received, in responses that Lambda accepts`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    const sent = await fill(
      broker,
      'q',
      times(EMPTY, () => ({ Body: '' })),
      EMPTY,
    );
    const locked = await broker.peekLockMany('q', 1000);
    assert.equal(locked.length, EMPTY);
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

test('a thousand tiny messages fit into one response', async (t) => {
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

test('an overlong lock token is refused, and not repeated a thousand times', async (t) => {
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

test('a thousand outcomes and a full batch of messages fit into one response', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const sent = await fill(broker, 'q', BODIES['small control characters'].messages, 300);
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
