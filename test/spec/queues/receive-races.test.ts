import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/**
 * A message that becomes available while a receive reads the queue comes with the next receive, even if it
 * lies before the messages that were read: the process must not store an outdated scan hint.
 */

const QUEUE = 'q';
const DEAD = 'q/$deadletterqueue';

async function start(
  t: TestContext,
): Promise<{ readonly broker: TestBroker; readonly pauses: PauseClient }> {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  expectStatus(await broker.createQueue(QUEUE), 201);
  return { broker, pauses };
}

async function sendEach(broker: TestBroker, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) expectStatus(await broker.send(QUEUE, body), 201);
}

async function settle(
  broker: TestBroker,
  message: Received | undefined,
  outcome: 'abandon' | 'deadLetter',
): Promise<void> {
  assert.ok(message);
  const [done] = await broker.settle(QUEUE, [{ lockToken: message.broker.LockToken, outcome }]);
  assert.equal(done?.settled, true);
}

/** Matches the query of the message log of the main queue (m) or the dead-letter queue (d). */
const readOf =
  (letter: 'm' | 'd') =>
  ({ command, collection }: Outgoing) =>
    command === 'QueryCommand' && collection.endsWith(`.0${letter}0`);

const bodies = (messages: readonly Received[]) => messages.map(({ body }) => body);

test('a message that is dead-lettered before others while they are read comes with the next receive', async (t) => {
  const { broker, pauses } = await start(t);
  await sendEach(broker, ['1', '2', '3']);
  const [first, second, third] = await broker.peekLockMany(QUEUE, 3);
  await settle(broker, second, 'deadLetter');
  await settle(broker, third, 'deadLetter');

  const reading = pauses.pauseNextAnswer(readOf('d'));
  const received = broker.receiveAndDelete(DEAD);
  await reading.reached;
  await settle(broker, first, 'deadLetter');
  reading.goOn();
  assert.equal((await received)?.body, '2');
  assert.deepEqual(bodies(await broker.peekLockMany(DEAD, 10)), ['1', '3']);
});

test('a message whose write is delayed until later messages are read comes with the next receive', async (t) => {
  const { broker, pauses } = await start(t);
  const storing = pauses.pauseNext(({ command }) => command === 'PutItemCommand');
  const late = broker.send(QUEUE, 'late');
  await storing.reached;
  await sendEach(broker, ['2', '3']);

  const reading = pauses.pauseNextAnswer(readOf('m'));
  const received = broker.receiveAndDelete(QUEUE);
  await reading.reached;
  storing.goOn();
  expectStatus(await late, 201);
  reading.goOn();
  assert.equal((await received)?.body, '2');
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 10)), ['late', '3']);
});

test('a message that is abandoned while others are read comes with the next receive', async (t) => {
  const { broker, pauses } = await start(t);
  await sendEach(broker, ['1', '2', '3']);
  const [first, second] = await broker.peekLockMany(QUEUE, 2);
  // The abandon invalidates the scan hint, so the next receive reads from the start.
  await settle(broker, second, 'abandon');

  const reading = pauses.pauseNextAnswer(readOf('m'));
  const received = broker.peekLockMany(QUEUE, 1);
  await reading.reached;
  await settle(broker, first, 'abandon');
  reading.goOn();
  assert.deepEqual(bodies(await received), ['2']);
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 10)), ['1', '3']);
});

test('a receive that starts at a scan hint does not skip messages that it did not read', async (t) => {
  const { broker, pauses } = await start(t);
  await sendEach(broker, ['1', '2', '3', '4', '5', '6']);
  // The scan hint now skips 1 and 2.
  const [first, second] = await broker.peekLockMany(QUEUE, 2);
  // The process has forgotten what the scan read, so the next receive reads from the hint on.
  broker.time.skip(250);

  const reading = pauses.pauseNextAnswer(readOf('m'));
  const received = broker.peekLockMany(QUEUE, 2);
  await reading.reached;
  // Both are available again, and the next receive stores a new scan hint, which skips the first.
  await settle(broker, first, 'abandon');
  await settle(broker, second, 'abandon');
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 1)), ['1']);
  reading.goOn();
  assert.deepEqual(bodies(await received), ['3', '4']);
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 10)), ['2', '5', '6']);
});

test('a receive-and-delete counts a delivery whose lock ended while its write was delayed', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue(QUEUE), 201);
  await sendEach(broker, ['1']);
  await broker.sendBatch(QUEUE, [{ Body: '2' }, { Body: '3' }]);
  const [first, second] = await broker.peekLockMany(QUEUE, 2);
  await settle(broker, first, 'abandon');
  assert.ok(second);
  const lockMs = Date.parse(second.broker.LockedUntilUtc) - broker.clock.now();
  broker.clock.advance({ ms: lockMs - 1 });

  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const late = await startBroker(t, { beside: broker, client: pauses.client });
  const removing = pauses.pauseNext(({ command }) => command === 'DeleteItemCommand');
  const received = late.receiveAndDelete(QUEUE);
  await removing.reached;
  assert.deepEqual(bodies(await broker.peekLockMany(QUEUE, 3)), ['1', '3']);
  broker.clock.advance({ ms: 1 });
  removing.goOn();
  const { body, broker: properties } = (await received) ?? {};
  assert.deepEqual([body, properties?.DeliveryCount], ['2', 2]);
});
