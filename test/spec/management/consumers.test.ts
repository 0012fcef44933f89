import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LAMBDA, listeningPush, namesIn, putConsumer } from '../../support/consumers.ts';
import { getJson, putJson, readJson, sentenceOf } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createTopic, putSubscription, subscription } from '../../support/topic-entities.ts';
import { LEASE_END_MS } from '../../support/virtual-time.ts';

/** A namespace with a dispatcher, and a queue `q`. */
async function start(t: TestContext) {
  const { heard, settings } = listeningPush();
  const broker = await startBroker(t, settings);
  expectStatus(await broker.createQueue('q'), 201);
  return { broker, heard };
}

test('a consumer is created, read, listed, replaced and deleted', async (t) => {
  const { broker } = await start(t);
  const created = await putConsumer(broker, 'q/consumers/Worker');
  expectStatus(created, 201);
  const at = new Date(broker.clock.now()).toISOString();
  const consumer = {
    name: 'Worker',
    target: LAMBDA,
    maxBatch: 10,
    batchWindow: 'PT0S',
    maxConcurrency: 10,
    timeout: 'PT1M',
    enabled: true,
    requiresSession: false,
    createdAt: at,
    modifiedAt: at,
  };
  assert.deepEqual(created.json(), consumer);
  const state = { isRunning: false };
  assert.deepEqual(await getJson(broker, 'q/consumers/worker'), { ...consumer, state });
  assert.deepEqual(await getJson(broker, 'Q/Consumers'), { consumers: [{ ...consumer, state }] });

  broker.clock.advance({ seconds: 5 });
  const settings = {
    target: `${LAMBDA}:live`,
    maxBatch: 1000,
    batchWindow: 'PT5M',
    maxConcurrency: 1000,
    maxPerSecond: 100_000,
    timeout: 'PT10M',
    enabled: false,
  };
  const replaced = await putConsumer(broker, 'q/consumers/WORKER', settings);
  expectStatus(replaced, 200);
  const modifiedAt = new Date(broker.clock.now()).toISOString();
  assert.deepEqual(replaced.json(), { ...consumer, ...settings, modifiedAt });
  expectStatus(await broker.request('DELETE', 'q/consumers/wOrKeR'), 200);
  expectStatus(await broker.request('GET', 'q/consumers/worker'), 404);
  expectStatus(await broker.request('DELETE', 'q/consumers/worker'), 404);
  assert.deepEqual(await getJson(broker, 'q/consumers'), { consumers: [] });
});

test('a setting that a replacement leaves out has its default again; what was read can be sent back', async (t) => {
  const { broker } = await start(t);
  expectStatus(await putConsumer(broker, 'q/consumers/c', { maxPerSecond: 7, maxBatch: 2 }), 201);
  const { text } = await readJson(broker, 'q/consumers/c');
  expectStatus(await putJson(broker, 'q/consumers/c', text), 200);
  const { maxPerSecond, maxBatch } = await getJson(broker, 'q/consumers/c');
  assert.deepEqual({ maxPerSecond, maxBatch }, { maxPerSecond: 7, maxBatch: 2 });
  const reset = await putConsumer(broker, 'q/consumers/c', { maxBatch: null });
  assert.deepEqual(
    [reset.json<{ maxBatch: number }>().maxBatch, Object.hasOwn(reset.json(), 'maxPerSecond')],
    [10, false],
  );
});

test('subscriptions and dead-letter queues have consumers of their own', async (t) => {
  const { broker } = await start(t);
  await createTopic(broker);
  const path = subscription('s');
  expectStatus(await putSubscription(broker, path), 201);
  const paths = [
    'q',
    'q/$deadletterqueue',
    'q/$Transfer/$DeadLetterQueue',
    path,
    `${path}/$DeadLetterQueue`,
  ];
  for (const [i, of] of paths.entries()) {
    expectStatus(await putConsumer(broker, `${of}/consumers/b${i}`), 201);
    expectStatus(await putConsumer(broker, `${of}/consumers/A`), 201);
  }
  for (const [i, of] of paths.entries()) {
    assert.deepEqual(namesIn(await getJson(broker, `${of}/consumers`)), ['A', `b${i}`]);
  }
});

test('a consumer says whether its messages are in sessions; those of dead-letter queues are in none', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  for (const [path, requiresSession] of [
    ['q', false],
    ['s', true],
    ['s/$deadletterqueue', false],
  ] as const) {
    const answer = await putConsumer(broker, `${path}/consumers/c`);
    assert.equal(answer.json<{ requiresSession: boolean }>().requiresSession, requiresSession);
  }
});

test('If-Match replaces and deletes only the version that it names', async (t) => {
  const { broker } = await start(t);
  const none = await putConsumer(broker, 'q/consumers/c', {}, { 'If-Match': '*' });
  expectStatus(none, 404);
  const first = (await putConsumer(broker, 'q/consumers/c')).headers.get('etag') ?? '';
  const match = { 'If-Match': first };
  const second = await putConsumer(broker, 'q/consumers/c', { maxBatch: 1 }, match);
  expectStatus(second, 200);
  assert.notEqual(second.headers.get('etag'), first);
  assert.equal(
    (await readJson(broker, 'q/consumers/c')).headers.get('etag'),
    second.headers.get('etag'),
  );
  expectStatus(await putConsumer(broker, 'q/consumers/c', {}, match), 412);
  expectStatus(await broker.request('DELETE', 'q/consumers/c', { headers: match }), 412);
  expectStatus(await putConsumer(broker, 'q/consumers/c', {}, { 'If-Match': '*' }), 200);
  expectStatus(
    await broker.request('DELETE', 'q/consumers/c', { headers: { 'If-Match': '*' } }),
    200,
  );
  // A consumer that is made again is another one.
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  expectStatus(await putConsumer(broker, 'q/consumers/c', {}, match), 412);
});

test('a consumer ends with its entity, and changes nothing of it', async (t) => {
  const { broker } = await start(t);
  await broker.send('q', 'm');
  const locked = await broker.peekLock('q');
  assert.ok(locked);
  const before = await getJson(broker, 'q');
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  expectStatus(await broker.request('DELETE', 'q/consumers/c'), 200);
  assert.deepEqual(await getJson(broker, 'q'), before);
  assert.equal(await broker.complete(locked), 200, 'a consumer ends no lock');
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT10S' }), 200);
  expectStatus(await broker.request('POST', 'q/messages/$purge'), 200);
  assert.deepEqual(namesIn(await getJson(broker, 'q/consumers')), ['c']);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  expectStatus(await broker.request('GET', 'q/consumers'), 404);
  expectStatus(await broker.createQueue('q'), 201);
  assert.deepEqual(await getJson(broker, 'q/consumers'), { consumers: [] });
});

test('the dispatcher hears of each change of a consumer, and of the settings beside it', async (t) => {
  const { broker, heard } = await start(t);
  const told = () => heard.splice(0);
  expectStatus(await putConsumer(broker, 'q/consumers/Main'), 201);
  assert.deepEqual(told(), ['q main']);
  expectStatus(await putConsumer(broker, 'q/$deadletterqueue/consumers/d'), 201);
  assert.deepEqual(told(), ['q main', 'q deadLetter']);
  expectStatus(await broker.updateQueue('q'), 200);
  assert.deepEqual(told(), ['q main', 'q deadLetter']);
  expectStatus(await broker.request('DELETE', 'q/consumers/main'), 200);
  assert.deepEqual(told(), ['q deadLetter']);
  expectStatus(
    await putConsumer(broker, 'q/$deadletterqueue/consumers/d', { enabled: false }),
    200,
  );
  assert.deepEqual(told(), []);
});

test('the state of a consumer is shown, and can be sent back', async (t) => {
  const { broker } = await start(t);
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  const read = await readJson(broker, 'q/consumers/c');
  const { text } = read;
  assert.deepEqual(read.json<{ state: unknown }>().state, { isRunning: false });
  expectStatus(await putJson(broker, 'q/consumers/c', text), 200);
});

test('a change of a consumer is answered once the leases of all processes have ended', async (t) => {
  const { broker } = await start(t);
  for (const change of [
    () => putConsumer(broker, 'q/consumers/c'),
    () => putConsumer(broker, 'q/consumers/c', { enabled: false }),
    () => broker.request('DELETE', 'q/consumers/c'),
  ]) {
    const before = broker.time.now();
    assert.ok((await change()).status <= 201);
    assert.ok(broker.time.now() >= before + LEASE_END_MS);
  }
});

test('the list of all entities has their consumers, those of dead-letter queues too', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.createQueue('plain'), 201);
  expectStatus(await putConsumer(broker, 'q/$deadletterqueue/consumers/a'), 201);
  expectStatus(await putConsumer(broker, 'q/consumers/b', { maxBatch: 2 }), 201);
  const { entities } = (await getJson(broker, '$entities')) as {
    entities: { name: string; consumers?: Record<string, unknown>[] }[];
  };
  assert.deepEqual(
    entities.map(({ name, consumers }) => [
      name,
      consumers?.map(({ subQueue, name: own, maxBatch }) => ({ subQueue, own, maxBatch })),
    ]),
    [
      ['plain', undefined],
      [
        'q',
        [
          { subQueue: 'main', own: 'b', maxBatch: 2 },
          { subQueue: 'deadLetter', own: 'a', maxBatch: 10 },
        ],
      ],
    ],
  );
  const refused = await putJson(broker, 'other', { kind: 'queue', consumers: [] });
  expectStatus(refused, 400);
  assert.match(sentenceOf(refused), /consumers: Consumers have addresses of their own: PUT each/);
});

test('a namespace that does not push has no consumers', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const refused = await putConsumer(broker, 'q/consumers/c');
  expectStatus(refused, 400);
  assert.match(sentenceOf(refused), /This namespace does not push messages: set push of the stage/);
  assert.deepEqual(await getJson(broker, 'q/consumers'), { consumers: [] });
});

test('a target that a consumer has already may stay when it is allowed no more', async (t) => {
  const { broker } = await start(t);
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  const strict = await startBroker(t, { beside: broker });
  expectStatus(await putConsumer(strict, 'q/consumers/c', { enabled: false }), 200);
  const refused = await putConsumer(strict, 'q/consumers/c', { target: `${LAMBDA}:other` });
  expectStatus(refused, 400);
  expectStatus(await putConsumer(strict, 'q/consumers/other'), 400);
  expectStatus(await strict.request('DELETE', 'q/consumers/c'), 200);
});

test('a change of a consumer costs a transaction of two writes, and reads of the entity', async (t) => {
  const { broker } = await start(t);
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  const costs = { read: 2, write: 4, requests: 3, roundTrips: 3 };
  const put = () => putConsumer(broker, 'q/consumers/c', { maxBatch: 3 });
  assert.deepEqual(await broker.units(put), costs);
  const remove = () => broker.request('DELETE', 'q/consumers/c');
  assert.deepEqual(await broker.units(remove), costs);
});
