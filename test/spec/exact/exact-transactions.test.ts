import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactBody, readExact, requestExact } from '../../support/exact-messages.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptSession } from '../../support/test-session.ts';
import { lock, startQueue } from '../queues/queue.ts';
import { commit, refusalOf, sending, settling, transact } from '../transactions/transaction.ts';

const value = Buffer.from('0053775407', 'hex');
const base64 = (...messages: readonly Uint8Array[]) => exactBody(...messages).toString('base64');

test('H22 a transaction sends exact messages beside others, in order', async (t) => {
  const broker = await startQueue(t, {}, 'first');
  const first = await lock(broker);
  const outcomes = await commit(broker, [
    { send: 'q', amqp: base64(value, value) },
    sending('q', 'text'),
    settling('complete', 'q', first),
  ]);
  assert.deepEqual(outcomes, [
    { sequenceNumbers: [2, 3] },
    { sequenceNumbers: [4] },
    { settled: true },
  ]);
  const answer = await requestExact(broker, 'GET', 'q/messages');
  assert.equal(readExact(answer).messages.length, 3);
  assert.equal(Buffer.from(answer.bytes).toString('hex').split(value.toString('hex')).length, 3);
});

const FAULTS: readonly [what: string, fields: object, sentence: RegExp][] = [
  ['no base64', { amqp: 'A' }, /operations\[1\]\.amqp is not valid base64/],
  ['no text', { amqp: 7 }, /operations\[1\]\.amqp must be a string/],
  ['broken AMQP', { amqp: 'AFN1' }, /not valid AMQP/],
  ['no messages', { amqp: '' }, /holds no message/],
  ['both forms', { amqp: base64(value), messages: [{ Body: 'a' }] }, /may not have 'messages'/],
];
for (const [what, fields, sentence] of FAULTS) {
  test(`a transaction with ${what} is refused, and names the operation`, async (t) => {
    const broker = await startQueue(t);
    const answer = await transact(broker, [sending('q', 'a'), { send: 'q', ...fields }]);
    expectStatus(answer, 400);
    assert.equal(refusalOf(answer).code, 'ArgumentError');
    assert.equal(refusalOf(answer).operation, 1);
    assert.match(refusalOf(answer).message, sentence);
    assert.deepEqual(await broker.peek('q'), []);
  });
}

test('the same transaction under an id is carried out once', async (t) => {
  const broker = await startQueue(t);
  const operations = [{ send: 'q', amqp: base64(value) }];
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(await commit(broker, operations, 'id'), [{ sequenceNumbers: [1] }]);
  }
});

test('an abandoned delivery that is uncounted is no delivery', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  for (const [isUncounted, count] of [
    [true, 1],
    [false, 1],
    [undefined, 2],
    [true, 3],
  ] as const) {
    const message = await lock(broker);
    assert.equal(message.broker.DeliveryCount, count);
    const abandon = {
      outcome: 'abandon' as const,
      lockToken: message.broker.LockToken,
      isUncounted,
    };
    const [outcome] = await broker.settle('q', [abandon]);
    assert.equal(outcome?.settled, true);
  }
  const message = await lock(broker);
  assert.equal(message.broker.DeliveryCount, 3);
  await commit(broker, [settling('abandon', 'q', message, { isUncounted: true })]);
  assert.equal((await lock(broker)).broker.DeliveryCount, 3);
});

test('the end of each lock is told exactly', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  const [a, b] = [await lock(broker), await lock(broker)];
  broker.clock.advance({ ms: 123 });
  const end = new Date(broker.clock.now() + 60_000).toISOString();
  assert.ok(end.endsWith('.123Z'));
  const lockTokens = [a.broker.LockToken];
  const renewals = await broker.post('q', '$renew', { lockTokens }, 200);
  const [renewed] = await commit(broker, [settling('renew', 'q', b)]);
  const accepted = await broker.request('POST', 's/sessions/$accept?sessionId=x');
  expectStatus(accepted, 201);
  const session = await acceptSession(broker, 's', 'y');
  const query = `sessionId=y&sessionLock=${session.lock}`;
  const again = await broker.request('POST', `s/sessions/$renew?${query}`);
  const ends = [
    renewals.json<{ renewals: Lock[] }>().renewals[0],
    renewed as unknown as Lock,
    accepted.json<Lock>(),
    again.json<Lock>(),
  ];
  for (const lockEnd of ends) {
    assert.equal(lockEnd?.lockedUntil, end);
    assert.equal(lockEnd?.lockedUntilUtc, new Date(end).toUTCString());
  }
});

interface Lock {
  readonly lockedUntil: string;
  readonly lockedUntilUtc: string;
}
