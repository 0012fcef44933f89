import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { bodies, isoInstant, lock, lockAndSettle, messageOf, startQueue } from '../queues/queue.ts';

const DETECTING = { RequiresDuplicateDetection: 'true' };
const WINDOW_SECONDS = 600;

/** Starts a namespace with the queue `q`, which detects duplicates within ten minutes. */
async function startDetecting(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  return await startQueue(t, { ...DETECTING, ...settings });
}

const withId = (Body: string, MessageId: string): BatchMessage => messageOf(Body, { MessageId });

async function send(broker: TestBroker, body: string, MessageId: string): Promise<void> {
  expectStatus(await broker.send('q', body, { MessageId }), 201);
}

async function sendBatch(broker: TestBroker, ...batch: readonly BatchMessage[]): Promise<void> {
  expectStatus(await broker.sendBatch('q', batch), 201);
}

async function stored(broker: TestBroker): Promise<readonly string[]> {
  return bodies(await broker.peek('q'));
}

test('#77 two sends with one MessageId inside the window succeed, and only the first is stored', async (t) => {
  const broker = await startDetecting(t);
  await send(broker, 'first', 'm');
  broker.clock.advance({ seconds: WINDOW_SECONDS, ms: -1 });
  await send(broker, 'second', 'm');
  assert.deepEqual(await stored(broker), ['first']);
});

test('#78 a message with the same MessageId is stored after the window', async (t) => {
  const broker = await startDetecting(t);
  await send(broker, 'first', 'm');
  broker.clock.advance({ seconds: WINDOW_SECONDS });
  await send(broker, 'second', 'm');
  assert.deepEqual(await stored(broker), ['first', 'second']);
});

test('#78 the window starts when the original is accepted, and a duplicate does not lengthen it', async (t) => {
  const window = { DuplicateDetectionHistoryTimeWindow: 'PT20S' };
  const broker = await startDetecting(t, window);
  await send(broker, 'first', 'm');
  broker.clock.advance({ seconds: 19 });
  await send(broker, 'second', 'm');
  broker.clock.advance({ seconds: 1 });
  await send(broker, 'third', 'm');
  assert.deepEqual(await stored(broker), ['first', 'third']);
});

test('#78 an updated window applies to messages that are sent after the update', async (t) => {
  const broker = await startDetecting(t);
  await send(broker, 'long', 'm');
  const shorter = { ...DETECTING, DuplicateDetectionHistoryTimeWindow: 'PT20S' };
  expectStatus(await broker.updateQueue('q', shorter), 200);
  await send(broker, 'short', 'n');
  broker.clock.advance({ seconds: 20 });
  await sendBatch(broker, withId('long again', 'm'), withId('short again', 'n'));
  assert.deepEqual(await stored(broker), ['long', 'short', 'short again']);
});

test('#79 a message is a duplicate even if the original was completed', async (t) => {
  const broker = await startDetecting(t);
  await send(broker, 'first', 'm');
  await lockAndSettle(broker, 'complete');
  await send(broker, 'second', 'm');
  await sendBatch(broker, withId('third', 'm'), withId('other', 'n'));
  assert.deepEqual(await stored(broker), ['other']);
});

test('#79 a message is a duplicate even if the original was dead-lettered, and the dead letter can be resubmitted', async (t) => {
  const broker = await startDetecting(t);
  await send(broker, 'first', 'm');
  await lockAndSettle(broker, 'deadLetter');
  await send(broker, 'second', 'm');
  assert.deepEqual(await stored(broker), []);
  assert.equal(await broker.resubmit('q/$deadletterqueue'), 1);
  assert.deepEqual(await stored(broker), ['first']);
});

test('#80 a queue without duplicate detection stores all messages with one MessageId', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 'first', 'm');
  await send(broker, 'second', 'm');
  await sendBatch(broker, withId('third', 'm'), withId('fourth', 'm'));
  assert.deepEqual(await stored(broker), ['first', 'second', 'third', 'fourth']);
});

test('#81 scheduled messages and messages sent at once are duplicates of each other', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  const [number] = await broker.schedule('q', [
    messageOf('scheduled', { MessageId: 'm', ...later }),
  ]);
  await send(broker, 'now', 'm');
  await send(broker, 'first', 'n');
  const { SequenceNumber } = (await lock(broker)).broker;
  const numbers = await broker.schedule('q', [
    messageOf('again', { MessageId: 'm', ...later }),
    messageOf('too late', { MessageId: 'n', ...later }),
    messageOf('third', { MessageId: 'o', ...later }),
  ]);
  assert.deepEqual(numbers, [number, SequenceNumber, SequenceNumber + 1]);
  broker.clock.advance({ seconds: 60 });
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)).sort(), [
    'first',
    'scheduled',
    'third',
  ]);
});

test('#81 the window of a scheduled message starts when it is accepted, not when it is due', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: WINDOW_SECONDS - 1 }) };
  await broker.schedule('q', [messageOf('scheduled', { MessageId: 'm', ...later })]);
  broker.clock.advance({ seconds: WINDOW_SECONDS });
  await send(broker, 'again', 'm');
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)).sort(), ['again', 'scheduled']);
});

test('#81 a message is a duplicate even if the original was cancelled, whose number cannot be cancelled again', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  const message = messageOf('scheduled', { MessageId: 'm', ...later });
  const [number = 0] = await broker.schedule('q', [message]);
  expectStatus(await broker.cancelScheduled('q', [number]), 200);
  assert.deepEqual(await broker.schedule('q', [message]), [number]);
  expectStatus(await broker.cancelScheduled('q', [number]), 404);
});

test('#82 RequiresDuplicateDetection of an existing queue cannot be changed', async (t) => {
  const broker = await startDetecting(t);
  const answer = await broker.updateQueue('q');
  assert.equal(answer.status, 400);
  assert.match(
    answer.text,
    /The value for the 'requiresDuplicateDetection' property of an existing Queue can't be changed\./,
  );
});

for (const [window, status] of [
  ['PT10S', 400],
  ['PT19.999S', 400],
  ['PT20S', 201],
  ['P7D', 201],
  ['P8D', 400],
] as const) {
  test(`#83 the creation of an entity with a window of ${window} answers ${status}`, async (t) => {
    const broker = await startBroker(t);
    const settings = { ...DETECTING, DuplicateDetectionHistoryTimeWindow: window };
    expectStatus(await broker.createQueue('q', settings), status);
    expectStatus(await broker.putEntity('t', 'TopicDescription', settings), status);
  });
}
