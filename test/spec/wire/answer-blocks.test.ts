import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLambdaBroker } from '../../support/lambda-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { type BatchMessage, expectStatus, type Received } from '../../support/test-broker.ts';
import { acceptSession } from '../../support/test-session.ts';
import { deadLettersOf } from '../../support/topic-entities.ts';
import { drain, fill, KB, MODES, manyProperties, takeFrom, times } from './answers.ts';

/**
 * Responses through Lambda, from blocks that need several, or that lack the size of their printed messages.
 */

for (const mode of MODES) {
  test(`${mode}: all dead letters of a block are received, although they do not fit into one response`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    const sent = await fill(
      broker,
      'q',
      times(68, () => ({ Body: '' })),
      68,
    );
    // The first block completely, whose payload is handed over; part of the second, whose payload is copied.
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

  test(`${mode}: messages are received from blocks that lack the size of their printed messages`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    // For the large ones, the upper bound alone would mean that none fits.
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

test('a response ends before a session message that does not fit, and skips none', async (t) => {
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
  // The three are in one block; `e` is put back into a block of its own.
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
  // Otherwise this test would prove nothing.
  assert.equal(answers[0], 'abcd');
  requireResultsFit();
});
