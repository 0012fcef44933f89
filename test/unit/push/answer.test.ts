import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readAnswer } from '../../../lambdas/push/answer/read-answer.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { Failure, Reply } from '../../../shared/push/ports.ts';
import { numbered } from './batches.ts';

const BATCH = numbered(7, 8, 9);

const read = (text: string): Reply => readAnswer(Buffer.from(text), BATCH);
const readItems = (...items: readonly unknown[]): Reply =>
  read(JSON.stringify({ batchItemFailures: items }));
const answered = (...failures: readonly Failure[]): Reply => ({ kind: 'answered', failures });
const item = (more: object = {}) => ({ itemIdentifier: '8', ...more });
const action = (one: Failure['action']): Reply => answered({ sequenceNumber: 8n, action: one });

const COMPLETE = [
  '',
  ' \r\n\t',
  'null',
  '{}',
  '{"batchItemFailures":null}',
  '{"batchItemFailures":[]}',
  '{"statusCode":200,"body":"done"}',
  '"OK"',
  'OK',
  '[null,{"id":1}]',
  '0',
  'false',
  '[[['.repeat(1000),
  '"the text batchItemFailures"',
];

for (const text of COMPLETE) {
  test(`all messages are complete after the answer ${JSON.stringify(text.slice(0, 60))}`, () => {
    assert.deepEqual(read(text), answered());
  });
}

const ACTIONS: readonly [object, Failure['action']][] = [
  [{}, { kind: 'abandon' }],
  [{ action: null, reason: null, delaySeconds: null }, { kind: 'abandon' }],
  [{ unknown: 'member' }, { kind: 'abandon' }],
  [{ action: 'abandon' }, { kind: 'abandon' }],
  [{ delaySeconds: 0 }, { kind: 'abandon', delayMs: 0 }],
  [
    { action: 'abandon', delaySeconds: 1.5 },
    { kind: 'abandon', delayMs: 1500 },
  ],
  [{ delaySeconds: 43_200 }, { kind: 'abandon', delayMs: 43_200_000 }],
  [{ action: 'deadLetter' }, { kind: 'deadLetter' }],
  [
    { action: 'deadLetter', reason: 'no', description: 'none' },
    { kind: 'deadLetter', reason: 'no', description: 'none' },
  ],
  [{ action: 'defer' }, { kind: 'defer' }],
];

for (const [more, one] of ACTIONS) {
  test(`a failed message with ${JSON.stringify(more)} is treated so`, () => {
    assert.deepEqual(readItems(item(more)), action(one));
  });
}

test('a number whose text matters to a property is a delay', () => {
  const text = '{"batchItemFailures":[{"itemIdentifier":"8","delaySeconds":3.0}]}';
  assert.deepEqual(read(text), action({ kind: 'abandon', delayMs: 3000 }));
});

test('several messages fail, each once', () => {
  const nine = { itemIdentifier: '9', action: 'defer' };
  assert.deepEqual(
    readItems(nine, item(), nine),
    answered(
      { sequenceNumber: 9n, action: { kind: 'defer' } },
      { sequenceNumber: 8n, action: { kind: 'abandon' } },
    ),
  );
});

test('a long reason is cut to what a reason may have', () => {
  const reason = `${'x'.repeat(4095)}😀`;
  const cut = `${'x'.repeat(4095)}\ufffd`;
  assert.deepEqual(
    readItems(item({ action: 'deadLetter', reason })),
    action({ kind: 'deadLetter', reason: cut }),
  );
});

const SENSELESS: readonly [string, RegExp][] = [
  ['{"batchItemFailures":', /^The answer is not valid JSON\.$/],
  ['batchItemFailures', /not valid JSON/],
  ['{"batchItemFailures":{}}', /^batchItemFailures is not a list\.$/],
  ['{"batchItemFailures":"8"}', /is not a list/],
  ['{"batchItemFailures":0}', /is not a list/],
  ['{"batchItemFailures":""}', /is not a list/],
  ['{"batchItemFailures":["8"]}', /^batchItemFailures holds no object\.$/],
  ['{"batchItemFailures":[null]}', /holds no object/],
  ['{"batchItemFailures":[{}]}', /^An item of batchItemFailures has no itemIdentifier\.$/],
  ['{"batchItemFailures":[{"messageId":"8"}]}', /has no itemIdentifier/],
  ['{"batchItemFailures":[{"itemIdentifier":""}]}', /has no itemIdentifier/],
  ['{"batchItemFailures":[{"itemIdentifier":null}]}', /has no itemIdentifier/],
  ['{"batchItemFailures":[{"itemIdentifier":8}]}', /has no itemIdentifier/],
  [
    '{"batchItemFailures":[{"itemIdentifier":"6"}]}',
    /^The itemIdentifier '6' is the messageId of no record of the event\.$/,
  ],
  ['{"batchItemFailures":[{"itemIdentifier":"08"}]}', /of no record/],
  [`${'[[['.repeat(1000)}"batchItemFailures"`, /deep/],
];

for (const [text, error] of SENSELESS) {
  test(`all messages fail after the answer ${text.slice(0, 60)}`, () => {
    const reply = read(text);
    assert.equal(reply.kind, 'failed');
    assert.match(reply.kind === 'failed' ? reply.error : '', error);
  });
}

const SENSELESS_ITEMS: readonly [object, RegExp][] = [
  [{ action: 'complete' }, /^action is none of 'abandon', 'deadLetter' and 'defer'\.$/],
  [{ action: 'Abandon' }, /action is none/],
  [{ action: 1 }, /action is none/],
  [{ action: 'defer', delaySeconds: 1 }, /^delaySeconds belongs to the action 'abandon' only\.$/],
  [{ reason: 'x' }, /^reason belongs to the action 'deadLetter' only\.$/],
  [{ action: 'defer', description: 'x' }, /description belongs/],
  [{ action: 'deadLetter', reason: 1 }, /^reason is no text\.$/],
  [{ delaySeconds: -1 }, /^delaySeconds is no number from 0 to 43200\.$/],
  [{ delaySeconds: 43_201 }, /delaySeconds is no number/],
  [{ delaySeconds: '1' }, /delaySeconds is no number/],
];

for (const [more, error] of SENSELESS_ITEMS) {
  test(`all messages fail after a failed message with ${JSON.stringify(more)}`, () => {
    const reply = readItems(item(more));
    assert.equal(reply.kind, 'failed');
    assert.match(reply.kind === 'failed' ? reply.error : '', error);
  });
}

test('all messages fail if one is named twice with different actions', () => {
  const reply = readItems(item(), item({ action: 'defer' }));
  assert.deepEqual(reply, {
    kind: 'failed',
    error: 'batchItemFailures names 8 twice, with different actions.',
  });
});

test('an answer is as long as an answer of Lambda and no longer', () => {
  const longest = Buffer.alloc(BUDGETS.push.answerBytes, ' ');
  assert.deepEqual(readAnswer(longest, BATCH), answered());
  const reply = readAnswer(Buffer.alloc(BUDGETS.push.answerBytes + 1, ' '), BATCH);
  assert.equal(reply.kind, 'failed');
});

test('an answer that names failures in bytes that are not UTF-8 fails', () => {
  const bytes = Buffer.concat([Buffer.from('{"batchItemFailures":"'), Uint8Array.of(0xff)]);
  assert.equal(readAnswer(bytes, BATCH).kind, 'failed');
});

test('no answer throws', () => {
  const value = fc.jsonValue().map((json) => JSON.stringify(json));
  const items = fc.jsonValue().map((json) => JSON.stringify({ batchItemFailures: [json] }));
  fc.assert(
    fc.property(fc.oneof(value, items, fc.string()), (text) => {
      assert.ok(['answered', 'failed'].includes(read(text).kind));
    }),
  );
});
