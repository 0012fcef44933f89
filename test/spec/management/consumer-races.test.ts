import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ANY_TARGET, LAMBDA, namesIn, putConsumer } from '../../support/consumers.ts';
import { interposingClient } from '../../support/interposing-client.ts';
import { getJson, readJson, sentenceOf } from '../../support/json-management.ts';
import { type Outgoing, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';

/** A process in whose next change of an entity another process, `there`, comes in between, with a queue `q`. */
async function start(t: TestContext) {
  const { client, beforeNextTransaction } = interposingClient();
  t.after(() => client.destroy());
  const here = await startBroker(t, { client, push: ANY_TARGET });
  const there = await startBroker(t, { beside: here, push: ANY_TARGET });
  expectStatus(await here.createQueue('q'), 201);
  return { here, there, beforeNextTransaction };
}

test('of two first consumers that are put at the same time, none is lost', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/theirs'), 201);
  });
  expectStatus(await putConsumer(here, 'q/consumers/ours'), 201);
  assert.deepEqual(namesIn(await getJson(here, 'q/consumers')), ['ours', 'theirs']);
});

test('of two further consumers that are put at the same time, none is lost', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  expectStatus(await putConsumer(here, 'q/consumers/first'), 201);
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/theirs'), 201);
  });
  expectStatus(await putConsumer(here, 'q/consumers/ours'), 201);
  assert.deepEqual(namesIn(await getJson(here, 'q/consumers')), ['first', 'ours', 'theirs']);
});

test('one consumer that is put twice at the same time is created once and replaced once', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  expectStatus(await putConsumer(here, 'q/consumers/first'), 201);
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/c', { maxBatch: 1 }), 201);
  });
  const ours = await putConsumer(here, 'q/consumers/c', { maxBatch: 2 });
  expectStatus(ours, 200);
  const { headers, json } = await readJson(there, 'q/consumers/c');
  assert.equal(json<{ maxBatch: number }>().maxBatch, 2);
  assert.equal(headers.get('etag'), ours.headers.get('etag'));
});

test('with If-Match, a consumer that another process replaces meanwhile stays as it is', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  const first = await putConsumer(here, 'q/consumers/c');
  const match = { 'If-Match': first.headers.get('etag') ?? '' };
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/c', { maxBatch: 1 }), 200);
  });
  expectStatus(await putConsumer(here, 'q/consumers/c', { maxBatch: 2 }, match), 412);
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/c', { maxBatch: 1 }), 200);
  });
  const second = (await readJson(here, 'q/consumers/c')).headers.get('etag') ?? '';
  const headers = { 'If-Match': second };
  expectStatus(await here.request('DELETE', 'q/consumers/c', { headers }), 412);
  assert.equal((await getJson(here, 'q/consumers/c'))['maxBatch'], 1);
});

test('a consumer that is put during an update of its entity is kept, and the update too', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/theirs'), 201);
  });
  expectStatus(await here.updateQueue('q', { LockDuration: 'PT10S' }), 200);
  beforeNextTransaction(async () => {
    expectStatus(await there.updateQueue('q', { LockDuration: 'PT20S' }), 200);
  });
  expectStatus(await putConsumer(here, 'q/consumers/ours'), 201);
  assert.deepEqual(namesIn(await getJson(here, 'q/consumers')), ['ours', 'theirs']);
  assert.equal((await getJson(here, 'q'))['lockDuration'], 'PT20S');
});

test('a consumer of an entity that begins to forward meanwhile is refused', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  expectStatus(await here.createQueue('to'), 201);
  beforeNextTransaction(async () => {
    expectStatus(await there.updateQueue('q', { ForwardTo: 'to' }), 200);
  });
  const refused = await putConsumer(here, 'q/consumers/c');
  expectStatus(refused, 400);
  assert.match(sentenceOf(refused), /'q' forwards its messages to 'to'/);
});

test('the tenth consumer is the last one also if two are put at the same time', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  for (let i = 0; i < 9; i++) expectStatus(await putConsumer(here, `q/consumers/c${i}`), 201);
  beforeNextTransaction(async () => {
    expectStatus(await putConsumer(there, 'q/consumers/theirs'), 201);
  });
  expectStatus(await putConsumer(here, 'q/consumers/ours'), 403);
});

test('a consumer of an entity that is made again meanwhile belongs to the new one', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  beforeNextTransaction(async () => {
    expectStatus(await there.request('DELETE', 'q'), 200);
    expectStatus(await there.createQueue('q', { LockDuration: 'PT10S' }), 201);
  });
  expectStatus(await putConsumer(here, 'q/consumers/c'), 201);
  assert.equal((await getJson(here, 'q'))['lockDuration'], 'PT10S');
  assert.deepEqual(namesIn(await getJson(here, 'q/consumers')), ['c']);
});

test('a consumer whose entity is always changed by others is refused in the end', async (t) => {
  const { here, there, beforeNextTransaction } = await start(t);
  let updates = 0;
  const update = async () => {
    updates++;
    beforeNextTransaction(update);
    expectStatus(await there.updateQueue('q'), 200);
  };
  beforeNextTransaction(update);
  const refused = await putConsumer(here, 'q/consumers/c');
  expectStatus(refused, 409);
  assert.match(sentenceOf(refused), /changed by other clients at the same time/);
  assert.equal(updates, 10);
});

const isTransaction = ({ command }: Outgoing) => command === 'TransactWriteItemsCommand';

test('a change of a consumer whose answer is lost succeeds if a lookup finds that it was made', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client, push: ANY_TARGET });
  expectStatus(await broker.createQueue('q'), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await putConsumer(broker, 'q/consumers/c', { maxBatch: 7 }), 200);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT10S' }), 200);
  const { maxBatch, target } = await getJson(broker, 'q/consumers/c');
  assert.deepEqual({ maxBatch, target }, { maxBatch: 7, target: LAMBDA });
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await broker.request('DELETE', 'q/consumers/c'), 200);
  assert.deepEqual(await getJson(broker, 'q/consumers'), { consumers: [] });
});

test('an update whose answer is lost succeeds, although a consumer was put since', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const here = await startBroker(t, { client: pauses.client, push: ANY_TARGET });
  const there = await startBroker(t, { beside: here, push: ANY_TARGET });
  expectStatus(await here.createQueue('q'), 201);
  const pause = pauses.pauseNextAnswer(isTransaction);
  const updating = here.updateQueue('q', { LockDuration: 'PT10S' });
  await pause.reached;
  expectStatus(await putConsumer(there, 'q/consumers/c'), 201);
  pause.goOnWithoutAnswer();
  expectStatus(await updating, 200);
  assert.deepEqual(namesIn(await getJson(here, 'q/consumers')), ['c']);
});
