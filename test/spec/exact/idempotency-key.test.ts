import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EXACT_TYPE, exactBody } from '../../support/exact-messages.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { commit, refusalOf, sending } from '../transactions/transaction.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const JSON_TYPE = 'application/vnd.microsoft.servicebus.json';

async function startQueue(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  return broker;
}

interface Request {
  readonly path?: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const send = (broker: TestBroker, key: string, { path = 'q/messages', body, headers }: Request) =>
  broker.request('POST', path, { body, headers: { 'Idempotency-Key': key, ...headers } });

const bodiesIn = async (broker: TestBroker, path = 'q') =>
  (await broker.peek(path)).map(({ body }) => body);

const exact = exactBody({ messageId: 'm', body: Buffer.from('a'), properties: {} });
const FORMATS: Readonly<Record<string, Request>> = {
  'one message': { body: 'a', headers: { Priority: '"High"' } },
  'a batch': { body: JSON.stringify([{ Body: 'a' }]), headers: { 'Content-Type': JSON_TYPE } },
  'an exact message': { body: exact, headers: { 'Content-Type': EXACT_TYPE } },
};

for (const [what, request] of Object.entries(FORMATS)) {
  test(`H24 ${what} with a key is stored once, however often it is sent within a day`, async (t) => {
    const broker = await startQueue(t);
    for (let i = 0; i < 3; i++) expectStatus(await send(broker, 'key 1', request), 201);
    await Promise.all([1, 2, 3].map(() => send(broker, 'key 1', request)));
    assert.deepEqual(await bodiesIn(broker), ['a']);
    const [message] = await broker.peek('q');
    assert.equal(message?.properties['idempotency-key'], undefined);
    expectStatus(await send(broker, 'key 2', request), 201);
    broker.clock.advance({ ms: DAY_MS });
    expectStatus(await send(broker, 'key 1', request), 201);
    assert.deepEqual(await bodiesIn(broker), ['a', 'a', 'a']);
  });
}

test('a key that names another request is refused', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.createQueue('other'), 201);
  const first: Request = { body: 'a', headers: { Priority: '"High"' } };
  expectStatus(await send(broker, 'key', first), 201);
  const others: Readonly<Record<string, Request>> = {
    'another body': { ...first, body: 'b' },
    'another entity': { ...first, path: 'other/messages' },
    'another property': { ...first, headers: { Priority: '"Low"' } },
    'another content type': { ...first, headers: { ...first.headers, 'Content-Type': 'text/x' } },
    'other system properties': {
      ...first,
      headers: { ...first.headers, BrokerProperties: '{"Label":"l"}' },
    },
  };
  for (const [what, request] of Object.entries(others)) {
    const answer = await send(broker, 'key', {
      ...request,
      headers: { ...request.headers, Accept: 'application/json' },
    });
    expectStatus(answer, 400);
    assert.equal(refusalOf(answer).code, 'InvalidOperation', what);
    assert.equal(refusalOf(answer).operation, undefined);
  }
  // Headers that proxies add do not matter.
  expectStatus(
    await send(broker, 'key', { ...first, headers: { ...first.headers, 'X-Amzn-Trace-Id': '1' } }),
    201,
  );
  assert.deepEqual(await bodiesIn(broker), ['a']);
  assert.deepEqual(await bodiesIn(broker, 'other'), []);
});

test('a key and the id of a transaction are in one name space', async (t) => {
  const broker = await startQueue(t);
  await commit(broker, [sending('q', 'a')], 'key');
  expectStatus(await send(broker, 'key', { body: 'a' }), 400);
  assert.deepEqual(await bodiesIn(broker), ['a']);
});

for (const key of ['', 'k'.repeat(129)]) {
  test(`a key of ${key.length} characters is refused`, async (t) => {
    const broker = await startQueue(t);
    const answer = await send(broker, key, { body: 'a', headers: { Accept: 'application/json' } });
    expectStatus(answer, 400);
    assert.match(
      refusalOf(answer).message,
      /Idempotency-Key is \d+ characters long; it has 1 to 128/,
    );
    assert.deepEqual(await bodiesIn(broker), []);
  });
}

test('a schedule with a key answers the same numbers again', async (t) => {
  const broker = await startQueue(t);
  const BrokerProperties = { ScheduledEnqueueTimeUtc: '2033-11-06T08:49:37Z' };
  const request: Request = {
    path: 'q/messages/$schedule',
    body: JSON.stringify([1, 2].map((i) => ({ Body: `m${i}`, BrokerProperties }))),
  };
  for (let i = 0; i < 2; i++) {
    const answer = await send(broker, 'key', request);
    expectStatus(answer, 201);
    assert.deepEqual(answer.json(), { sequenceNumbers: [1, 2] });
  }
  assert.deepEqual(await bodiesIn(broker), ['m1', 'm2']);
});

test('more messages than a transaction sends are refused, and none is stored', async (t) => {
  const broker = await startQueue(t);
  const body = JSON.stringify(Array.from({ length: 101 }, () => ({ Body: 'a' })));
  expectStatus(await send(broker, 'key', { body, headers: { 'Content-Type': JSON_TYPE } }), 400);
  assert.deepEqual(await bodiesIn(broker), []);
});

test('a topic publishes a message with a key once', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/a');
  for (let i = 0; i < 2; i++) {
    expectStatus(await send(broker, 'key', { path: 't/messages', body: 'a' }), 201);
  }
  assert.deepEqual(await bodiesIn(broker, 't/subscriptions/a'), ['a']);
});
