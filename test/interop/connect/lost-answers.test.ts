import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { startOverHttp } from './over-http.ts';

/** The broker over HTTP, where requests and answers get lost on the way. */

const MESSAGE = { body: Buffer.from('x'), properties: {} };
const NOW = { mode: 'peekLock', maxMessages: 10, waitMs: 0 } as const;

async function connected(
  t: TestContext,
  options: Parameters<typeof startOverHttp>[1] = {},
  settings: Parameters<typeof startOverHttp>[2] = {},
) {
  const { namespace, link, upstream, queue } = await startOverHttp(t, options, settings);
  const { broker } = upstream.dependencies;
  return { namespace, link, broker, path: parseEntityPath(queue) };
}

const isUnknown = (error: unknown) =>
  error instanceof BrokerError && error.code === 'ServiceTimeout';

test('a send whose answer got lost is not sent again: its outcome is not known', async (t) => {
  const { link, broker, path } = await connected(t);
  link.lose('answer lost', '/messages');
  await assert.rejects(broker.send(path, [MESSAGE]), isUnknown);
  assert.equal(link.countOf('/messages'), 1);
  assert.equal((await broker.peek(path, { maxMessages: 10 })).length, 1);
});

test('sends with ids are sent again where an answer got lost, and stored once', async (t) => {
  const { link, broker, path } = await connected(t, { sendsOnce: true });
  link.lose('answer lost', '/messages');
  await Promise.all([broker.send(path, [MESSAGE]), broker.send(path, [MESSAGE, MESSAGE])]);
  assert.equal(link.countOf('/messages'), 2);
  assert.equal((await broker.peek(path, { maxMessages: 10 })).length, 3);
});

test('messages without a key go to a partitioned queue without an id, which the service would refuse', async (t) => {
  const partitioned = { enablePartitioning: true };
  const { broker, path } = await connected(t, { sendsOnce: true }, partitioned);
  const named = ['a', 'b'].map((messageId) => ({ ...MESSAGE, messageId }));
  const batches = [[MESSAGE], named, [{ ...MESSAGE, partitionKey: 'p' }]];
  await Promise.all(batches.map((messages) => broker.send(path, messages)));
  assert.equal((await broker.peek(path, { maxMessages: 10 })).length, 4);
});

test('a transaction with an id is carried out once where its answer got lost', async (t) => {
  const { link, broker, path } = await connected(t, { sendsOnce: true });
  link.lose('answer lost', '/$transactions');
  const send = { kind: 'send', path, messages: [MESSAGE] } as const;
  const outcomes = await broker.transact({ operations: [send, send] });
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['sent', 'sent'],
  );
  assert.equal((await broker.peek(path, { maxMessages: 10 })).length, 2);
});

test('a settlement that got lost is repeated', async (t) => {
  const { link, broker, path } = await connected(t);
  await broker.send(path, [MESSAGE]);
  const [message] = await broker.receive(path, NOW);
  assert.ok(message !== undefined && 'lockToken' in message);
  const { lockToken } = message;
  link.lose('request lost', '/$settle');
  const outcomes = await broker.settle(path, [{ lockToken, action: { kind: 'complete' } }]);
  assert.deepEqual(outcomes, [{ lockToken }]);
  assert.deepEqual(await broker.peek(path, { maxMessages: 10 }), []);
});

test('a settlement whose answer got lost is not called refused, since it may have been done', async (t) => {
  const { link, broker, path } = await connected(t);
  await broker.send(path, [MESSAGE]);
  const [message] = await broker.receive(path, NOW);
  assert.ok(message !== undefined && 'lockToken' in message);
  const settlement = { lockToken: message.lockToken, action: { kind: 'complete' } } as const;
  link.lose('answer lost', '/$settle');
  const [outcome] = await broker.settle(path, [settlement]);
  assert.equal(outcome?.refusal?.code, 'ServiceTimeout');
  assert.deepEqual(await broker.peek(path, { maxMessages: 10 }), []);
  const [again] = await broker.settle(path, [settlement]);
  assert.equal(again?.refusal?.code, 'MessageLockLost');
});

test('a settlement whose answer got lost is not called undone where the service cannot be reached then', async (t) => {
  const { link, broker, path } = await connected(t);
  await broker.send(path, [MESSAGE]);
  const [message] = await broker.receive(path, NOW);
  assert.ok(message !== undefined && 'lockToken' in message);
  link.lose('answer lost', '/$settle');
  const { lockToken } = message;
  const settling = broker.settle(path, [{ lockToken, action: { kind: 'complete' } }]);
  while (link.countOf('/$settle') === 0) await new Promise((resolve) => setImmediate(resolve));
  await link.down();
  await assert.rejects(settling, isUnknown);
});

test('a session is released where the request got lost', async (t) => {
  const { link, broker, path } = await connected(t, {}, { requiresSession: true });
  const accept = { sessionId: 'a', waitMs: 0 };
  const session = await broker.acceptSession(path, accept);
  assert.ok(session !== undefined);
  link.lose('request lost', '/$release');
  await broker.releaseSession(path, session);
  assert.equal((await broker.acceptSession(path, accept))?.sessionId, 'a');
});

test('a session that a lost answer may have locked for the caller is not called held by another', async (t) => {
  const { link, broker, path } = await connected(t, {}, { requiresSession: true });
  link.lose('answer lost', '/$accept');
  const accepting = broker.acceptSession(path, { sessionId: 'a', waitMs: 60_000 });
  await assert.rejects(accepting, isUnknown);
  const again = broker.acceptSession(path, { sessionId: 'a', waitMs: 60_000 });
  await assert.rejects(again, { code: 'SessionCannotBeLocked' });
});

test('where the answer of a settlement and a receive got lost, the settlement is done once, and the messages come again', async (t) => {
  const { namespace, link, broker, path } = await connected(t);
  await broker.send(path, [MESSAGE]);
  await broker.send(path, [{ ...MESSAGE, messageId: 'second' }]);
  const [first] = await broker.receive(path, { ...NOW, maxMessages: 1 });
  assert.ok(first !== undefined && 'lockToken' in first);
  const { lockToken } = first;
  link.lose('answer lost', '/head');
  const [settling, receiving] = await Promise.allSettled([
    broker.settle(path, [{ lockToken, action: { kind: 'complete' } }]),
    broker.receive(path, NOW),
  ]);
  assert.deepEqual(
    link.requests.slice(-2).map((request) => request.replace(/.*[/]/, '')),
    ['head', '$settle'],
  );
  assert.ok(settling.status === 'fulfilled');
  assert.equal(settling.value[0]?.refusal?.code, 'ServiceTimeout');
  // It says that the service was busy, not that there is nothing.
  assert.ok(receiving.status === 'rejected');
  assert.deepEqual(await broker.receive(path, NOW), []);
  namespace.advance(61_000);
  const again = await broker.receive(path, NOW);
  assert.deepEqual(
    again.map(({ message, failedDeliveries }) => [message.messageId, failedDeliveries]),
    [['second', 1]],
  );
});

test('a receive whose answer got lost locks no more messages in place of those', async (t) => {
  const { link, broker, path } = await connected(t);
  await broker.send(path, [MESSAGE]);
  link.lose('answer lost', '/head');
  await assert.rejects(broker.receive(path, NOW), { code: 'ServiceBusy' });
  assert.equal(link.countOf('/head'), 1);
});

test('a request that could not be sent is tried again', async (t) => {
  const { link, broker, path } = await connected(t);
  await link.down();
  const sending = broker.send(path, [MESSAGE]);
  await new Promise<void>((resolve) => setImmediate(resolve));
  await link.up();
  await sending;
  assert.equal((await broker.peek(path, { maxMessages: 10 })).length, 1);
});

test('a send that something else than the service answers is not called sent', async (t) => {
  const { link, broker, path } = await connected(t);
  link.lose('answered by another', '/messages');
  await assert.rejects(broker.send(path, [MESSAGE]), isUnknown);
  assert.deepEqual(await broker.peek(path, { maxMessages: 10 }), []);
});
