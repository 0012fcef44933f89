import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptSession } from '../../support/test-session.ts';
import type { Try } from '../../support/tries-client.ts';
import { bodies } from '../queues/queue.ts';
import { refusalOf, sending, settling, transact } from '../transactions/transaction.ts';
import { start, TRIES_MAX } from './late-fixture.ts';

/** Transactions with an id whose write gets no answer, and arrives after the client has asked again. */

test('a transaction that is still in flight answers 504, not a refusal, if its record cannot be read', async (t) => {
  const { broker, tries } = await start(t);
  tries.next('TransactWriteItemsCommand', [
    ...Array<Try>(TRIES_MAX).fill('late'),
    async () => tries.next('GetItemCommand', Array(TRIES_MAX).fill('throttled')),
  ]);
  const toSession = { Body: 'b', BrokerProperties: { SessionId: 'a' } };
  const operations = [sending('q', 'a'), sending('s', toSession)];
  const answer = await transact(broker, operations, 'id');
  assert.equal(answer.status, 504, answer.text);
  await tries.arrive();
  expectStatus(await transact(broker, operations, 'id'), 200);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), ['a']);
});

test('#129 U5 a transaction that was refused for a lost session lock does not take effect late', async (t) => {
  const { broker, tries } = await start(t);
  expectStatus(await broker.send('s', 'm', { SessionId: 'a' }), 201);
  const session = await acceptSession(broker, 's', 'a');
  const [message] = await session.peekLockMany(1);
  assert.ok(message);
  const operations = [
    settling('complete', 's', message, { sessionId: 'a' }),
    sending('q', 'sent by the transaction'),
  ];
  tries.next('TransactWriteItemsCommand', Array<Try>(TRIES_MAX).fill('late'));
  expectStatus(await transact(broker, operations, 'id'), 504);
  broker.clock.advance({ seconds: 30 });
  const refused = await transact(broker, operations, 'id');
  assert.equal(refused.status, 410, refused.text);
  assert.equal(refusalOf(refused).code, 'SessionLockLost');
  await tries.arrive();
  assert.deepEqual(bodies(await broker.peek('q')), []);
  const again = await acceptSession(broker, 's', 'a');
  assert.deepEqual(bodies(await again.peekLockMany(9)), ['m']);
});

test('#129 U5 a transaction that was refused because its destination is disabled does not take effect late', async (t) => {
  const { broker, tries } = await start(t);
  const operations = [sending('q', 'a'), sending('q', 'b')];
  tries.next('TransactWriteItemsCommand', Array<Try>(TRIES_MAX).fill('late'));
  expectStatus(await transact(broker, operations, 'id'), 504);
  expectStatus(await broker.updateQueue('q', { Status: 'SendDisabled' }), 200);
  const refused = await transact(broker, operations, 'id');
  assert.equal(refusalOf(refused).code, 'MessagingEntityDisabled', refused.text);
  await tries.arrive();
  assert.deepEqual(bodies(await broker.peek('q')), []);
});
