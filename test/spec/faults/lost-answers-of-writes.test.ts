import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/**
 * A write whose answer is lost may have succeeded. If it put a message into a queue before the position that
 * the scan hint of this process skips to, the next receive delivers that message all the same.
 */

const QUEUE = 'q';
const DEAD = 'q/$deadletterqueue';
const isTransaction = ({ command }: Outgoing) => command === 'TransactWriteItemsCommand';
/** After a write whose answer is lost, the broker reads the items that the write puts or changes. */
const isLookup = ({ command }: Outgoing) => command === 'BatchGetItemCommand';
const isBlockRead = ({ command, collection }: Outgoing) =>
  command === 'GetItemCommand' && /\.\d[md]\d$/.test(collection);
const isPut = ({ command }: Outgoing) => command === 'PutItemCommand';
const isUpdate = ({ command }: Outgoing) => command === 'UpdateItemCommand';

async function start(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<{ readonly broker: TestBroker; readonly pauses: PauseClient }> {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  expectStatus(await broker.createQueue(QUEUE, settings), 201);
  return { broker, pauses };
}

async function lockEach(broker: TestBroker, bodies: readonly string[]): Promise<Received[]> {
  for (const body of bodies) expectStatus(await broker.send(QUEUE, body), 201);
  return [...(await broker.peekLockMany(QUEUE, bodies.length))];
}

async function deadLetter(broker: TestBroker, message: Received | undefined) {
  assert.ok(message);
  const settlement = { lockToken: message.broker.LockToken, outcome: 'deadLetter' } as const;
  const [outcome] = await broker.settle(QUEUE, [settlement]);
  return outcome?.error?.code ?? 'settled';
}

const bodies = (messages: readonly Received[]) => messages.map(({ body }) => body);

test('a dead letter whose write lost its answer is delivered before later ones', async (t) => {
  const { broker, pauses } = await start(t);
  const [first, second, third] = await lockEach(broker, ['1', '2', '3']);
  assert.equal(await deadLetter(broker, second), 'settled');
  assert.equal(await deadLetter(broker, third), 'settled');
  assert.equal((await broker.receiveAndDelete(DEAD))?.body, '2');

  pauses.loseNextAnswer(isTransaction);
  pauses.loseNextAnswer(isLookup);
  assert.equal(await deadLetter(broker, first), 'ServiceTimeout');
  assert.deepEqual(bodies(await broker.peekLockMany(DEAD, 10)), ['1', '3']);
});

test('a message at MaxDeliveryCount whose dead-lettering lost its answer is delivered before later dead letters', async (t) => {
  const { broker, pauses } = await start(t, { MaxDeliveryCount: '1', LockDuration: 'PT5S' });
  const [, second, third] = await lockEach(broker, ['1', '2', '3']);
  assert.equal(await deadLetter(broker, second), 'settled');
  assert.equal(await deadLetter(broker, third), 'settled');
  assert.equal((await broker.receiveAndDelete(DEAD))?.body, '2');

  broker.clock.advance({ seconds: 5 });
  pauses.loseNextAnswer(isTransaction);
  pauses.loseNextAnswer(isLookup);
  expectStatus(await broker.request('POST', `${QUEUE}/messages/head?timeout=0`), 504);
  assert.deepEqual(bodies(await broker.peekLockMany(DEAD, 10)), ['1', '3']);
});

test('a receive that fails at one message answers only after it has processed the others', async (t) => {
  const { broker, pauses } = await start(t, { MaxDeliveryCount: '1', LockDuration: 'PT5S' });
  await lockEach(broker, ['1', '2']);
  broker.clock.advance({ seconds: 5 });
  pauses.loseNextAnswer(isTransaction);
  pauses.loseNextAnswer(isLookup);
  const other = pauses.pauseNext(isTransaction);
  let isAnswered = false;
  const answer = broker.request('POST', `${QUEUE}/messages/head?timeout=0`).finally(() => {
    isAnswered = true;
  });
  await other.reached;
  // These peeks give the receive time to answer too early.
  for (let i = 0; i < 3; i++) await broker.peek(QUEUE);
  assert.equal(isAnswered, false);
  other.goOn();
  expectStatus(await answer, 504);
});

test('a delayed message whose send lost its answer is delivered before later ones', async (t) => {
  const { broker, pauses } = await start(t);
  const pause = pauses.pauseNext(isPut);
  const late = broker.send(QUEUE, 'late');
  await pause.reached;
  for (const body of ['2', '3']) expectStatus(await broker.send(QUEUE, body), 201);
  assert.equal((await broker.receiveAndDelete(QUEUE))?.body, '2');

  pauses.loseNextAnswer(isLookup);
  pause.goOnWithoutAnswer();
  expectStatus(await late, 504);
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 10)), ['late', '3']);
});

test('a message whose abandon lost its answer is delivered before later ones', async (t) => {
  const { broker, pauses } = await start(t);
  const [first] = await lockEach(broker, ['1', '2']);
  assert.ok(first);
  expectStatus(await broker.send(QUEUE, '3'), 201);

  pauses.loseNextAnswer(isUpdate);
  pauses.loseNextAnswer(isBlockRead);
  const abandon = { lockToken: first.broker.LockToken, outcome: 'abandon' } as const;
  const [outcome] = await broker.settle(QUEUE, [abandon]);
  assert.equal(outcome?.error?.code, 'ServiceTimeout');
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 10)), ['1', '3']);
});

test('a dead-lettering whose answer is lost is reported as settled if a lookup finds the dead letter', async (t) => {
  const { broker, pauses } = await start(t);
  const [message] = await lockEach(broker, ['1']);
  pauses.loseNextAnswer(isTransaction);
  assert.equal(await deadLetter(broker, message), 'settled');
  assert.deepEqual(bodies(await broker.peekLockMany(DEAD, 10)), ['1']);
});

test('deferred messages are delivered although the answer to the write of their locks is lost', async (t) => {
  const { broker, pauses } = await start(t);
  const messages = await lockEach(broker, ['1', '2']);
  const settlements = messages.map(({ broker: { LockToken: lockToken } }) => ({
    lockToken,
    outcome: 'defer' as const,
  }));
  await broker.settle(QUEUE, settlements);
  const numbers = messages.map(({ broker: { SequenceNumber } }) => SequenceNumber);
  pauses.loseNextAnswer(isTransaction);
  const received = await broker.receiveDeferred(QUEUE, numbers);
  assert.deepEqual(bodies(received), ['1', '2']);
  const completions = received.map(({ broker: { LockToken: lockToken } }) => ({
    lockToken,
    outcome: 'complete' as const,
  }));
  assert.ok((await broker.settle(QUEUE, completions)).every(({ settled }) => settled));
});
