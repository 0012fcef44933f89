import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { bodies, DEAD, lock, startQueue } from '../queues/queue.ts';
import { commit, refusalOf, requireRefused, sending, settling, transact } from './transaction.ts';

/** Invalid transactions are refused; nothing is changed, and the locks stay live. */

interface Fixture {
  readonly broker: TestBroker;
  readonly held: Received;
}

/** A message locked in `q`, and entities of all kinds. */
async function startFixture(t: TestContext): Promise<Fixture> {
  const broker = await startQueue(t, {}, 'held');
  expectStatus(await broker.createQueue('sessions', { RequiresSession: 'true' }), 201);
  expectStatus(await broker.createQueue('closed', { Status: 'SendDisabled' }), 201);
  expectStatus(await broker.putEntity('topic', 'TopicDescription', {}), 201);
  expectStatus(await broker.putEntity('topic/Subscriptions/s', 'SubscriptionDescription', {}), 201);
  return { broker, held: await lock(broker) };
}

const INVALID = { status: 400, code: 'InvalidOperation', operation: 1 };
const ARGUMENT = { status: 400, code: 'ArgumentError', operation: 1 };
const LOST = { status: 404, code: 'MessageLockLost', operation: 1 };

const ROWS: readonly (readonly [
  what: string,
  operation: (fixture: Fixture) => object,
  expected: { readonly status: number; readonly code: string; readonly operation?: number },
])[] = [
  [
    'a send to an entity that does not exist',
    () => sending('none', 'x'),
    { status: 410, code: 'MessagingEntityNotFound', operation: 1 },
  ],
  [
    'a message to a disabled queue that is too large for any queue',
    () => sending('closed', 'x'.repeat(257 * 1024)),
    { status: 403, code: 'MessageSizeExceeded', operation: 1 },
  ],
  ['a send to a dead-letter queue', () => sending(DEAD, 'x'), INVALID],
  ['a send to a subscription', () => sending('topic/Subscriptions/s', 'x'), INVALID],
  [
    'a message that is too large',
    () => sending('q', 'x'.repeat(257 * 1024)),
    { status: 403, code: 'MessageSizeExceeded', operation: 1 },
  ],
  [
    'a message whose SessionId and PartitionKey differ',
    () => sending('q', { Body: 'x', BrokerProperties: { SessionId: 'a', PartitionKey: 'b' } }),
    INVALID,
  ],
  ['a message without a body', () => ({ send: 'q', messages: [{}] }), ARGUMENT],
  ['a send with an empty array of messages', () => ({ send: 'q', messages: [] }), ARGUMENT],
  ['a send without messages', () => ({ send: 'q' }), ARGUMENT],
  ['a settlement at a topic', ({ held }) => settling('complete', 'topic', held), INVALID],
  [
    'an unknown lock token',
    () => ({ complete: 'q', lockToken: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547' }),
    LOST,
  ],
  ['an invalid lock token', () => ({ complete: 'q', lockToken: 'x' }), LOST],
  ['a renewal with an invalid lock token', () => ({ renew: 'q', lockToken: 'x' }), LOST],
  ['a settlement without a lock token', () => ({ complete: 'q' }), ARGUMENT],
  ['a misspelt field', ({ held }) => settling('abandon', 'q', held, { delay: 1 }), ARGUMENT],
  [
    'a completion with properties',
    ({ held }) => settling('complete', 'q', held, { properties: { a: 1 } }),
    ARGUMENT,
  ],
  [
    'a reason that is too long',
    ({ held }) => settling('deadLetter', 'q', held, { deadLetterReason: 'x'.repeat(4097) }),
    ARGUMENT,
  ],
  [
    'two verbs in one operation',
    () => ({ send: 'q', complete: 'q', messages: [{ Body: 'x' }] }),
    ARGUMENT,
  ],
  ['an operation without a verb', () => ({ receive: 'q' }), ARGUMENT],
  ['a verb that is a method of every object', () => ({ toString: 'q' }), ARGUMENT],
  ['an operation that is a string', () => 'send' as unknown as object, ARGUMENT],
  ['an entity that is not a string', () => ({ send: 7, messages: [{ Body: 'x' }] }), ARGUMENT],
  ['an invalid entity name', () => sending('a//b', 'x'), ARGUMENT],
];

for (const [what, operation, expected] of ROWS) {
  test(`#129 a transaction with ${what} is refused as a whole`, async (t) => {
    const fixture = await startFixture(t);
    const { broker, held } = fixture;
    await requireRefused(
      t,
      broker,
      [sending('q', 'new'), operation(fixture), settling('complete', 'q', held)],
      expected,
    );
    assert.equal(await broker.complete(held), 200);
    assert.deepEqual(await broker.peek('q'), []);
  });
}

const BODIES: readonly (readonly [body: string, sentence: RegExp])[] = [
  ['', /not valid JSON/],
  ['{', /not valid JSON/],
  ['[]', /The body must be an object/],
  ['null', /The body must be an object/],
  ['{}', /operations must be an array/],
  ['{"operations":{}}', /operations must be an array/],
  ['{"operations":[]}', /operations is too small or short; the least is 1/],
  ['{"operations":[null]}', /operations\[0\] must have one of send, complete/],
  ['{"operations":[[]]}', /operations\[0\] must have one of send, complete/],
  ['{"operations":[{"send":"q","messages":"x"}]}', /The batch must be a JSON array/],
  ['{"operations":[{"renew":"q","lockToken":7}]}', /operations\[0\]\.lockToken must be a string/],
  ['{"operations":[{"renew":"q","lockToken":"x","x":1}]}', /operations\[0\] may not have 'x'/],
  ['{"operations":[{"send":"q","messages":[{"Body":"x"}]}],"id":""}', /id is too small/],
  ['{"operations":[{"send":"q","messages":[{"Body":"x"}]}],"id":7}', /id must be a string/],
  ['{"operations":[{"send":"q","messages":[{"Body":"x"}]}],"id":"\\ud800"}', /half of a surrogate/],
  ['{"operations":[{"send":"q","messages":[{"Body":"x"}]}],"ID":"x"}', /may not have 'ID'/],
  [
    `{"operations":[{"send":"q","messages":[{"Body":"x"}]}],"id":"${'x'.repeat(129)}"}`,
    /id is too large or long; the limit is 128/,
  ],
  [
    `{"operations":[${'{"complete":"q","lockToken":"x"},'.repeat(1000)}{}]}`,
    /operations is too large or long; the limit is 1000/,
  ],
  [
    `{"operations":[{"send":"q","messages":[{"Body":"x"}],"__proto__":{"a":1}}]}`,
    /may not have '__proto__'/,
  ],
];

test('an invalid request body is refused in JSON with a message', async (t) => {
  const broker = await startQueue(t);
  for (const [body, sentence] of BODIES) {
    const answer = await broker.request('POST', '$transactions', { body });
    assert.equal(answer.status, 400, `${body}: ${answer.text}`);
    const { code, message, retryable } = refusalOf(answer);
    assert.deepEqual([code, retryable], ['ArgumentError', false], body);
    assert.match(message, sentence);
  }
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const nested = `{"id":"x","operations":[{"send":"q","messages":[{"Body":"x","BrokerProperties":{"Odd":${deep}}}]}]}`;
  const answer = await broker.request('POST', '$transactions', { body: nested });
  assert.ok(answer.status < 500, answer.text.slice(0, 300));
});

test('a transaction that exceeds the size limit of DynamoDB transactions is refused', async (t) => {
  const broker = await startQueue(t);
  for (let i = 0; i < 75; i++) expectStatus(await broker.send('q', `${i}`), 201);
  const held = await broker.peekLockMany('q', 75);
  const properties = { a: 'x'.repeat(30_000), b: 'y'.repeat(30_000) };
  const operations = held.map((message) => settling('abandon', 'q', message, { properties }));
  const refusal = await requireRefused(t, broker, operations, {
    status: 400,
    code: 'InvalidOperation',
  });
  assert.match(refusal.message, /bytes/);
  await commit(broker, operations.slice(0, 50));
  const [first] = await broker.peekLockMany('q', 1);
  assert.deepEqual(first?.properties, properties);
});

test('an id may be any text of up to 128 characters', async (t) => {
  const broker = await startQueue(t);
  for (const id of [
    'x'.repeat(128),
    '../head',
    'ß 🚀 "\\',
    '\u0000',
    ' ',
    '.y',
    '界'.repeat(128),
  ]) {
    const first = await commit(broker, [sending('q', id)], id);
    assert.deepEqual(await commit(broker, [sending('q', id)], id), first);
  }
  assert.equal((await broker.peek('q')).length, 7);
});

test('the Basic tier refuses transactions', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  expectStatus(await broker.createQueue('q'), 201);
  const answer = await transact(broker, [sending('q', 'x')]);
  assert.equal(answer.status, 400);
  assert.equal(
    refusalOf(answer).message,
    `SubCode=40000. Transactions can't be used because the namespace '${broker.namespace}' is using the 'Basic' Tier. This operation is only supported in 'Standard' or 'Premium' tier.`,
  );
  assert.deepEqual(await broker.peek('q'), []);
});

test('a queue that was deleted and created again takes part in a transaction', async (t) => {
  const broker = await startQueue(t);
  const beside = await startBroker(t, { beside: broker });
  await commit(beside, [sending('q', 'old')]);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  expectStatus(await broker.createQueue('q'), 201);
  await commit(beside, [sending('q', 'new')]);
  assert.deepEqual(bodies(await broker.peek('q')), ['new']);
});
