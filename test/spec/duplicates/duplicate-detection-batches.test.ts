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
import { bodies, isoInstant, messageOf, numbers, startQueue } from '../queues/queue.ts';

const DETECTING = { RequiresDuplicateDetection: 'true' };

const withId = (Body: string, MessageId: string): BatchMessage => messageOf(Body, { MessageId });

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

test('#77 the first of several messages with one MessageId in a batch is stored, and the order is kept', async (t) => {
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

test('#77 only the new messages of a batch are stored, after single sends and after batches', async (t) => {
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

test('a batch of duplicates only is accepted, and uses no sequence numbers', async (t) => {
  const broker = await startDetecting(t);
  const batch = ['a', 'b', 'c'].map((id) => withId(id, id));
  for (let i = 0; i < 3; i++) await sendBatch(broker, batch);
  expectStatus(await broker.send('q', 'a', { MessageId: 'a' }), 201);
  expectStatus(await broker.send('q', 'next'), 201);
  assert.deepEqual(numbers(await broker.peek('q')), [1, 2, 3, 4]);
});

test('messages without a MessageId from their sender are never duplicates', async (t) => {
  const broker = await startDetecting(t);
  for (let i = 0; i < 2; i++) expectStatus(await broker.send('q', 'x'), 201);
  for (let i = 0; i < 2; i++) await sendBatch(broker, [{ Body: 'x' }, withId('only', 'm')]);
  assert.deepEqual(bodies(await broker.peek('q')), ['x', 'x', 'x', 'only', 'x']);
});

test('a MessageId is compared exactly, with case, spaces and encoding', async (t) => {
  const broker = await startDetecting(t);
  const ids = ['m', 'M', ' m', 'm ', 'm/x', 'm%2Fx', 'é', 'e\u0301', '1', '1:m', ':m'];
  for (const id of ids) await sendBatch(broker, [withId(id, id)]);
  await sendBatch(
    broker,
    ids.map((id) => withId(`again ${id}`, id)),
  );
  assert.deepEqual(bodies(await broker.peek('q')), ids);
});

test('two MessageIds of 128 characters that differ only in the last one are different', async (t) => {
  const broker = await startDetecting(t);
  const long = '€'.repeat(127);
  const batch = ['a', 'b', 'a'].map((last) => withId(last, long + last));
  await sendBatch(broker, batch);
  for (const last of ['b', 'c']) await sendBatch(broker, [withId(last, long + last)]);
  assert.deepEqual(bodies(await broker.peek('q')), ['a', 'b', 'c']);
});

test('#77 a partitioned queue compares MessageId and partition key', async (t) => {
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

test('a queue without partitions compares only the MessageId', async (t) => {
  const broker = await startDetecting(t);
  for (const PartitionKey of ['a', 'b']) {
    expectStatus(await broker.send('q', PartitionKey, { MessageId: 'm', PartitionKey }), 201);
  }
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
});

test('a message is no duplicate of one in another entity, nor in a deleted entity of the same name', async (t) => {
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

test('#81 a schedule call returns the sequence numbers of the originals for duplicates', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  const scheduled = (...ids: readonly string[]) =>
    broker.schedule(
      'q',
      ids.map((MessageId) => messageOf(MessageId, { MessageId, ...later })),
    );
  assert.deepEqual(await scheduled('a', 'b', 'a', 'c'), [1, 2, 1, 3]);
  assert.deepEqual(await scheduled('d', 'c', 'e', 'b', 'f'), [4, 3, 5, 2, 6]);
  // The duplicates in the batch before used no sequence numbers.
  assert.deepEqual(await scheduled('f', 'e', 'd', 'a', 'g'), [6, 5, 4, 1, 7]);
  assert.deepEqual(await scheduled('g'), [7]);
});

test('#77 #81 a very large batch with scheduled messages is stored once', async (t) => {
  const broker = await startDetecting(t);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  const batch = Array.from({ length: LARGE_BATCH }, (_, i) =>
    messageOf('x', { MessageId: `${i}`, ...(i < 100 ? later : {}) }),
  );
  await sendBatch(broker, batch);
  await sendBatch(broker, [...batch.slice(1), withId('last', 'new')]);
  const { active, scheduled } = await broker.runtimeProperties('q');
  assert.deepEqual({ active, scheduled }, { active: LARGE_BATCH - 99, scheduled: 100 });
});

test('#77 a duplicate that is sent to a topic reaches no subscription', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', DETECTING);
  const paths = ['a', 'b'].map((name) => subscription(name));
  await createSubscriptions(broker, paths);
  expectStatus(await broker.send('t', 'first', { MessageId: 'm' }), 201);
  expectStatus(await broker.send('t', 'second', { MessageId: 'm' }), 201);
  await sendBatch(broker, [withId('third', 'm'), withId('n', 'n'), withId('n again', 'n')], 't');
  for (const path of paths) assert.deepEqual(await drainBodies(broker, path), ['first', 'n']);
});

test('#77 a message is a duplicate even if no subscription got the original', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', DETECTING);
  expectStatus(await broker.send('t', 'dropped', { MessageId: 'm' }), 201);
  await sendBatch(broker, [withId('dropped', 'n'), withId('dropped', 'o')], 't');
  await createSubscriptions(broker, [subscription('a')]);
  for (const id of ['m', 'n']) {
    expectStatus(await broker.send('t', 'again', { MessageId: id }), 201);
  }
  await sendBatch(broker, [withId('again', 'o'), withId('new', 'p')], 't');
  assert.deepEqual(await drainBodies(broker, subscription('a')), ['new']);
});

test('#81 messages scheduled at a topic and messages sent at once are duplicates of each other', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', DETECTING);
  const path = subscription('a');
  await createSubscriptions(broker, [path]);
  const later = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  await sendBatch(
    broker,
    [
      withId('m now', 'm'),
      messageOf('m later', { MessageId: 'm', ...later }),
      messageOf('n later', { MessageId: 'n', ...later }),
      withId('n now', 'n'),
    ],
    't',
  );
  expectStatus(await broker.send('t', 'n once more', { MessageId: 'n' }), 201);
  assert.deepEqual(await drainBodies(broker, path), ['m now']);
  broker.clock.advance({ seconds: 60 });
  assert.deepEqual(await drainBodies(broker, path), ['n later']);
});

test('#77 a publication to more subscriptions than one transaction can write is made once', async (t) => {
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

test('#77 a forwarding queue and its destination each detect duplicates of the messages sent to them', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('end', DETECTING), 201);
  expectStatus(await broker.createQueue('q', { ...DETECTING, ForwardTo: 'end' }), 201);
  for (const body of ['first', 'second']) {
    expectStatus(await broker.send('q', body, { MessageId: 'm' }), 201);
  }
  await sendBatch(broker, [withId('third', 'm'), withId('other', 'n')]);
  assert.deepEqual(bodies(await broker.peek('end')), ['first', 'other']);
  // The destination neither compares nor records forwarded messages.
  expectStatus(await broker.send('end', 'sent there', { MessageId: 'm' }), 201);
  assert.deepEqual(bodies(await broker.peek('end')), ['first', 'other', 'sent there']);
});
