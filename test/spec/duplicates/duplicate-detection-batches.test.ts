import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FEW_ITEMS, LARGE_BATCH, MORE_THAN_A_TRANSACTION } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscriptions,
  createTopic,
  drainBodies,
  subscription,
} from '../../support/topic-entities.ts';
import { bodies, isoInstant, numbers, startQueue, withBroker } from '../queues/queue.ts';

const DETECTING = { RequiresDuplicateDetection: 'true' };

const withId = (Body: string, MessageId: string): BatchMessage => withBroker(Body, { MessageId });

async function sendBatch(
  broker: TestBroker,
  batch: readonly BatchMessage[],
  path = 'q',
): Promise<void> {
  expectStatus(await broker.sendBatch(path, batch), 201);
}

async function startDetecting(t: TestContext, settings: Record<string, string> = {}) {
  return await startQueue(t, { ...DETECTING, ...settings });
}

test('#77 of equal ids inside a batch the first one is stored, and the order stays', async (t) => {
  const broker = await startDetecting(t);
  await sendBatch(broker, [
    withId('1', 'a'),
    withId('2', 'b'),
    withId('3', 'a'),
    { Body: '4' },
    withId('5', 'b'),
    withId('6', 'c'),
  ]);
  const peeked = await broker.peek('q');
  assert.deepEqual(bodies(peeked), ['1', '2', '4', '6']);
  assert.deepEqual(numbers(peeked), [1, 2, 3, 4]);
});

test('#77 of a batch only what is new is stored, whether history is of single sends or of batches', async (t) => {
  const broker = await startDetecting(t);
  expectStatus(await broker.send('q', 'single', { MessageId: 'a' }), 201);
  await sendBatch(broker, [withId('1', 'b'), withId('2', 'c')]);
  await sendBatch(
    broker,
    ['a', 'd', 'c', 'e', 'b'].map((id) => withId(`again ${id}`, id)),
  );
  expectStatus(await broker.send('q', 'again', { MessageId: 'e' }), 201);
  assert.deepEqual(bodies(await broker.peek('q')), ['single', '1', '2', 'again d', 'again e']);
});

test('a batch of nothing but duplicates is accepted, and costs no number', async (t) => {
  const broker = await startDetecting(t);
  const batch = ['a', 'b', 'c'].map((id) => withId(id, id));
  for (let i = 0; i < 3; i++) await sendBatch(broker, batch);
  expectStatus(await broker.send('q', 'a', { MessageId: 'a' }), 201);
  expectStatus(await broker.send('q', 'next'), 201);
  assert.deepEqual(numbers(await broker.peek('q')), [1, 2, 3, 4]);
});

test('messages without an id of their sender’s are never duplicates', async (t) => {
  const broker = await startDetecting(t);
  for (let i = 0; i < 2; i++) expectStatus(await broker.send('q', 'x'), 201);
  for (let i = 0; i < 2; i++) await sendBatch(broker, [{ Body: 'x' }, withId('only', 'm')]);
  assert.deepEqual(bodies(await broker.peek('q')), ['x', 'x', 'x', 'only', 'x']);
});

test('ids are compared letter by letter', async (t) => {
  const broker = await startDetecting(t);
  const ids = ['m', 'M', ' m', 'm ', 'm/x', 'm%2Fx', 'é', 'e\u0301', '1', '1:m', ':m'];
  for (const id of ids) await sendBatch(broker, [withId(id, id)]);
  await sendBatch(
    broker,
    ids.map((id) => withId(`again ${id}`, id)),
  );
  assert.deepEqual(bodies(await broker.peek('q')), ids);
});

test('ids of 128 letters are told apart by their last one', async (t) => {
  const broker = await startDetecting(t);
  const long = '€'.repeat(127);
  const batch = ['a', 'b', 'a'].map((last) => withId(last, long + last));
  await sendBatch(broker, batch);
  for (const last of ['b', 'c']) await sendBatch(broker, [withId(last, long + last)]);
  assert.deepEqual(bodies(await broker.peek('q')), ['a', 'b', 'c']);
});

test('#77 in a partitioned queue the id counts together with the key', async (t) => {
  const broker = await startDetecting(t, { EnablePartitioning: 'true' });
  const send = async (Body: string, properties: Record<string, string>) =>
    expectStatus(await broker.send('q', Body, { MessageId: 'm', ...properties }), 201);
  for (const round of ['', ' again']) {
    await send(`bare${round}`, {});
    await send(`a${round}`, { PartitionKey: 'a' });
    await send(`b${round}`, { PartitionKey: 'b' });
    await send(`s${round}`, { SessionId: 'b' });
  }
  assert.deepEqual(bodies(await broker.peek('q')).sort(), ['a', 'b', 'bare']);
});

test('in a queue without partitions the key does not matter', async (t) => {
  const broker = await startDetecting(t);
  for (const PartitionKey of ['a', 'b']) {
    expectStatus(await broker.send('q', PartitionKey, { MessageId: 'm', PartitionKey }), 201);
  }
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
});

test('two entities know nothing of each other, nor does one of its namesake before it', async (t) => {
  const broker = await startDetecting(t);
  expectStatus(await broker.createQueue('other', DETECTING), 201);
  for (const queue of ['q', 'other']) {
    expectStatus(await broker.send(queue, 'x', { MessageId: 'm' }), 201);
    assert.equal((await broker.peek(queue)).length, 1);
  }
  expectStatus(await broker.request('DELETE', 'q'), 200);
  expectStatus(await broker.createQueue('q', DETECTING), 201);
  expectStatus(await broker.send('q', 'anew', { MessageId: 'm' }), 201);
  assert.deepEqual(bodies(await broker.peek('q')), ['anew']);
});

test('#81 a schedule answers for duplicates with the numbers of their originals', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  const scheduled = (...ids: readonly string[]) =>
    broker.schedule(
      'q',
      ids.map((MessageId) => withBroker(MessageId, { MessageId, ...later })),
    );
  assert.deepEqual(await scheduled('a', 'b', 'a', 'c'), [1, 2, 1, 3]);
  assert.deepEqual(await scheduled('d', 'c', 'e', 'b', 'f'), [4, 3, 5, 2, 6]);
  // The batch before had duplicates in it, which took no numbers.
  assert.deepEqual(await scheduled('f', 'e', 'd', 'a', 'g'), [6, 5, 4, 1, 7]);
  assert.deepEqual(await scheduled('g'), [7]);
});

test('#77 #81 a very large batch is stored once, with what is scheduled in it', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  const batch = Array.from({ length: LARGE_BATCH }, (_, i) =>
    withBroker('x', { MessageId: `${i}`, ...(i < 100 ? later : {}) }),
  );
  await sendBatch(broker, batch);
  await sendBatch(broker, [...batch.slice(1), withId('last', 'new')]);
  const { active, scheduled } = await broker.runtimeProperties('q');
  assert.deepEqual({ active, scheduled }, { active: LARGE_BATCH - 99, scheduled: 100 });
});

test('#77 a topic decides before its rules: a duplicate reaches no subscription', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', DETECTING);
  const paths = ['a', 'b'].map((name) => subscription(name));
  await createSubscriptions(broker, paths);
  expectStatus(await broker.send('t', 'first', { MessageId: 'm' }), 201);
  expectStatus(await broker.send('t', 'second', { MessageId: 'm' }), 201);
  await sendBatch(broker, [withId('third', 'm'), withId('n', 'n'), withId('n again', 'n')], 't');
  for (const path of paths) assert.deepEqual(await drainBodies(broker, path), ['first', 'n']);
});

test('#77 a message that a topic took and nobody wanted is known as well', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', DETECTING);
  expectStatus(await broker.send('t', 'for nobody', { MessageId: 'm' }), 201);
  await sendBatch(broker, [withId('for nobody', 'n'), withId('for nobody', 'o')], 't');
  await createSubscriptions(broker, [subscription('a')]);
  for (const id of ['m', 'n']) {
    expectStatus(await broker.send('t', 'again', { MessageId: id }), 201);
  }
  await sendBatch(broker, [withId('again', 'o'), withId('new', 'p')], 't');
  assert.deepEqual(await drainBodies(broker, subscription('a')), ['new']);
});

test('#81 in a topic, what is scheduled and what is sent at once know each other', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', DETECTING);
  const path = subscription('a');
  await createSubscriptions(broker, [path]);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  await sendBatch(
    broker,
    [
      withId('m now', 'm'),
      withBroker('m later', { MessageId: 'm', ...later }),
      withBroker('n later', { MessageId: 'n', ...later }),
      withId('n now', 'n'),
    ],
    't',
  );
  expectStatus(await broker.send('t', 'n once more', { MessageId: 'n' }), 201);
  assert.deepEqual(await drainBodies(broker, path), ['m now']);
  broker.clock.advance({ seconds: 60 });
  assert.deepEqual(await drainBodies(broker, path), ['n later']);
});

test('#77 a publication of more blocks than a transaction takes is made once', async (t) => {
  const broker = await startBroker(t, { limits: FEW_ITEMS });
  await createTopic(broker, 't', DETECTING);
  const paths = Array.from({ length: MORE_THAN_A_TRANSACTION }, (_, i) => subscription(`s${i}`));
  await createSubscriptions(broker, paths);
  expectStatus(await broker.send('t', 'one', { MessageId: 'm' }), 201);
  expectStatus(await broker.send('t', 'again', { MessageId: 'm' }), 201);
  await sendBatch(broker, [withId('again', 'm'), withId('two', 'n')], 't');
  await sendBatch(broker, [withId('again', 'm'), withId('again', 'n')], 't');
  for (const path of [paths[0] ?? '', paths.at(-1) ?? '']) {
    assert.deepEqual(await drainBodies(broker, path), ['one', 'two']);
  }
});

test('#77 a queue that forwards detects what is sent to it, and its destination what is sent there', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('end', DETECTING), 201);
  expectStatus(await broker.createQueue('q', { ...DETECTING, ForwardTo: 'end' }), 201);
  for (const body of ['first', 'second']) {
    expectStatus(await broker.send('q', body, { MessageId: 'm' }), 201);
  }
  await sendBatch(broker, [withId('third', 'm'), withId('other', 'n')]);
  assert.deepEqual(bodies(await broker.peek('end')), ['first', 'other']);
  // What arrives by a forward is neither compared nor remembered.
  expectStatus(await broker.send('end', 'sent there', { MessageId: 'm' }), 201);
  assert.deepEqual(bodies(await broker.peek('end')), ['first', 'other', 'sent there']);
});
