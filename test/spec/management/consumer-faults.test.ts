import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ANY_TARGET, LAMBDA, namesIn, putConsumer } from '../../support/consumers.ts';
import { copyEntity } from '../../support/copied-entities.ts';
import { getJson, type Json, putJson, sentenceOf } from '../../support/json-management.ts';
import { engineClient, startBroker, TABLES } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createTopic, putSubscription, subscription } from '../../support/topic-entities.ts';

async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t, { push: ANY_TARGET });
  expectStatus(await broker.createQueue('q'), 201);
  return broker;
}

/** Requires that a PUT is refused with this sentence. */
async function refuse(broker: TestBroker, path: string, body: Json, sentence: RegExp) {
  const answer = await putJson(broker, path, body);
  expectStatus(answer, 400);
  assert.match(sentenceOf(answer), sentence);
}

test('all faults of a consumer are named at once, with their paths', async (t) => {
  const broker = await start(t);
  const answer = await putJson(broker, 'q/consumers/c', {
    name: 'other',
    target: 'worker',
    maxBatch: 0,
    batchWindow: 'PT6M',
    maxConcurrency: '10',
    maxPerSecond: 1.5,
    timeout: 'PT0.5S',
    enabled: 'yes',
    maxBatchSize: 3,
  });
  expectStatus(answer, 400);
  const sentence = sentenceOf(answer);
  for (const fault of [
    /name: It must be "c", as the path says/,
    /target: The target 'worker' is not valid/,
    /maxBatch: The value '0' .* whole number from 1 to 1000/,
    /batchWindow: The value 'PT6M' .* is above 'PT5M'/,
    /maxConcurrency: It must be a whole number/,
    /maxPerSecond: It must be a whole number/,
    /timeout: The value 'PT0.5S' .* is below the minimum of 'PT1S'/,
    /enabled: It must be true or false/,
    /maxBatchSize: There is no such property/,
  ]) {
    assert.match(sentence, fault);
  }
  assert.deepEqual(await getJson(broker, 'q/consumers'), { consumers: [] });
});

test('a consumer needs a target, in JSON', async (t) => {
  const broker = await start(t);
  for (const target of [undefined, null, '']) {
    await refuse(broker, 'q/consumers/c', { target }, /The target is missing: add it/);
  }
  await refuse(broker, 'q/consumers/c', { target: 7 }, /target: It must be a text, not 7/);
  for (const type of ['application/atom+xml', 'text/plain']) {
    const headers = { 'Content-Type': type, Accept: 'application/json' };
    const body = JSON.stringify({ target: LAMBDA });
    const answer = await broker.request('PUT', 'q/consumers/c', { headers, body });
    expectStatus(answer, 400);
    assert.match(sentenceOf(answer), /must be JSON: send it with the header Content-Type/);
  }
});

test('the name of a consumer obeys the rule of the names of subscriptions', async (t) => {
  const broker = await start(t);
  expectStatus(await putConsumer(broker, `q/consumers/${'n'.repeat(50)}`), 201);
  for (const name of ['n'.repeat(51), '-a', 'a%20b', '$a']) {
    for (const method of ['GET', 'DELETE']) {
      expectStatus(await broker.request(method, `q/consumers/${name}`), 400);
    }
    expectStatus(await putConsumer(broker, `q/consumers/${name}`), 400);
  }
});

test('topics, and entities that do not exist, have no consumers', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await refuse(broker, 't/consumers/c', { target: LAMBDA }, /'t' is a topic.*subscriptions/);
  const list = await broker.request('GET', 't/consumers');
  expectStatus(list, 400);
  for (const path of ['none', subscription('none'), 'none/$deadletterqueue']) {
    expectStatus(await putConsumer(broker, `${path}/consumers/c`), 404);
    expectStatus(await broker.request('GET', `${path}/consumers`), 404);
    expectStatus(await broker.request('DELETE', `${path}/consumers/c`), 404);
  }
});

test('an entity forwards its messages, or a consumer gets them', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('f', { ForwardTo: 'q' }), 201);
  await refuse(broker, 'f/consumers/c', { target: LAMBDA }, /'f' forwards its messages to 'q'/);
  expectStatus(await putConsumer(broker, 'f/$deadletterqueue/consumers/c'), 201);

  expectStatus(await broker.createQueue('p'), 201);
  expectStatus(await putConsumer(broker, 'p/consumers/Worker'), 201);
  const refused = await broker.updateQueue('p', { ForwardTo: 'q' });
  expectStatus(refused, 400);
  assert.match(
    refused.text,
    /'p' cannot forward its messages to 'q', because its consumer 'Worker'/,
  );
  expectStatus(await broker.request('DELETE', 'p/consumers/worker'), 200);
  expectStatus(await broker.updateQueue('p', { ForwardTo: 'q' }), 200);
  // Consumers of dead letters do not hinder.
  expectStatus(await broker.updateQueue('f', { ForwardTo: 'q' }), 200);
});

test('an entity has ten consumers with its dead-letter queues; one may be replaced', async (t) => {
  const broker = await start(t);
  for (let i = 0; i < 5; i++) {
    expectStatus(await putConsumer(broker, `q/consumers/c${i}`), 201);
    expectStatus(await putConsumer(broker, `q/$deadletterqueue/consumers/c${i}`), 201);
  }
  for (const path of ['q', 'q/$transfer/$deadletterqueue']) {
    const refused = await putConsumer(broker, `${path}/consumers/more`);
    expectStatus(refused, 403);
    assert.match(sentenceOf(refused), /'q' has 10 consumers with its dead-letter queues/);
  }
  expectStatus(await putConsumer(broker, 'q/consumers/c0', { maxBatch: 1 }), 200);
  expectStatus(await broker.request('DELETE', 'q/consumers/c4'), 200);
  expectStatus(await putConsumer(broker, 'q/consumers/more'), 201);
  assert.deepEqual(namesIn(await getJson(broker, 'q/consumers')), ['c0', 'c1', 'c2', 'c3', 'more']);
});

test('only Manage on the entity reads and changes its consumers', async (t) => {
  const broker = await start(t);
  for (const [method, path] of [
    ['GET', 'q/consumers'],
    ['GET', 'q/consumers/c'],
    ['PUT', 'q/consumers/c'],
    ['DELETE', 'q/consumers/c'],
  ] as const) {
    expectStatus(await broker.request(method, path, { authorization: null }), 401);
  }
});

test('a wrong method on the path of consumers is answered with those that it has', async (t) => {
  const broker = await start(t);
  for (const [path, allowed] of [
    ['q/consumers', 'GET'],
    ['q/$deadletterqueue/consumers', 'GET'],
    ['q/consumers/c', 'GET, PUT, DELETE'],
  ] as const) {
    const answer = await broker.request('POST', path);
    expectStatus(answer, 405);
    assert.equal(answer.headers.get('allow'), allowed);
  }
});

test('a new queue or topic cannot have a name at which consumers are', async (t) => {
  const broker = await start(t);
  for (const name of ['a/consumers/b/c', 'a/Consumers/b/c/d']) {
    const refused = await broker.createQueue(name);
    expectStatus(refused, 400);
    assert.match(refused.text, /the segment '[Cc]onsumers' is reserved/);
  }
  for (const name of ['consumers', 'consumers/a', 'a.consumers']) {
    expectStatus(await broker.createQueue(name), 201);
    expectStatus(await putConsumer(broker, `${name}/consumers/c`), 201);
  }
  // A subscription may have the name.
  await createTopic(broker);
  const path = subscription('consumers');
  expectStatus(await putSubscription(broker, path), 201);
  expectStatus(await putConsumer(broker, `${path}/consumers/consumers`), 201);
  expectStatus(await broker.request('GET', path), 200);
  expectStatus(await broker.request('DELETE', path), 200);
});

test('a queue that got the name of a consumer before keeps its address, while nothing is in front of it', async (t) => {
  const broker = await start(t);
  const client = engineClient();
  t.after(() => client.destroy());
  const names = ['a/consumers/b', 'q/consumers/b', 'c/consumers'];
  await copyEntity(client, broker.namespace, 'q', names, TABLES);
  const update = { 'If-Match': '*' };
  const settings = { kind: 'queue', maxDeliveryCount: 3 };
  expectStatus(await putJson(broker, 'a/consumers/b', settings, update), 200);
  assert.equal((await getJson(broker, 'a/consumers/b'))['maxDeliveryCount'], 3);
  assert.equal((await getJson(broker, 'c/consumers'))['kind'], 'queue');
  expectStatus(await broker.send('a/consumers/b', 'm'), 201);
  expectStatus(await putConsumer(broker, 'a/consumers/b/consumers/b'), 201);
  expectStatus(await broker.request('DELETE', 'a/consumers/b'), 200);
  expectStatus(await broker.request('GET', 'a/consumers/b'), 404);
  // Here a consumer is meant.
  expectStatus(await broker.request('GET', 'q/consumers/b'), 404);
  expectStatus(await putConsumer(broker, 'q/consumers/b'), 201);
  assert.equal((await getJson(broker, 'q/consumers/b'))['target'], LAMBDA);
});
