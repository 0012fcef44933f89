import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { getJson, putJson } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** The counts of filters for which the vendor's clients of 2026 ask with their api-version (semantics G29). */

const NEW = 'api-version=2024-05';
/** The elements of the filters in an answer, in its order. */
const FILTERS =
  /<SubscriptionCount>\d+<\/SubscriptionCount><SqlFilterCount>(\d+)<\/SqlFilterCount><CorrelationFilterCount>(\d+)<\/CorrelationFilterCount>/g;

function filtersIn(text: string): readonly (readonly [sql: number, correlation: number])[] {
  return [...text.matchAll(FILTERS)].map(([, sql, correlation]) => [
    Number(sql),
    Number(correlation),
  ]);
}

async function countedBus(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await putJson(broker, 'events', { kind: 'topic' }), 201);
  expectStatus(await putJson(broker, 'events/Subscriptions/all', { kind: 'subscription' }), 201);
  expectStatus(await putJson(broker, 'events/Subscriptions/some', { kind: 'subscription' }), 201);
  const rules = 'events/Subscriptions/some/Rules';
  expectStatus(await putJson(broker, `${rules}/none`, { sql: '1=0' }), 201);
  expectStatus(await putJson(broker, `${rules}/large`, { sql: 'size > 5' }), 201);
  for (const name of ['red', 'blue', 'green']) {
    expectStatus(
      await putJson(broker, `${rules}/${name}`, { correlation: { subject: name } }),
      201,
    );
  }
  expectStatus(await putJson(broker, 'quiet', { kind: 'topic' }), 201);
  return broker;
}

test('G29 a topic tells a client of api-version 2024-05 how many filters it has; the True filter counts as SQL', async (t) => {
  const broker = await countedBus(t);
  const { text } = await broker.request('GET', `events?${NEW}`);
  assert.deepEqual(filtersIn(text), [[4, 3]]);
  const list = await broker.request('GET', `$Resources/Topics?${NEW}`);
  assert.deepEqual(filtersIn(list.text), [
    [4, 3],
    [0, 0],
  ]);
  const json = await getJson(broker, `events?${NEW}`);
  assert.deepEqual([json['sqlFilterCount'], json['correlationFilterCount']], [4, 3]);
  expectStatus(await putJson(broker, `events?${NEW}`, json, { 'If-Match': '*' }), 200);
});

test('G29 other versions, queues and subscriptions have no such counts', async (t) => {
  const broker = await countedBus(t);
  for (const path of [
    'events',
    'events?api-version=2021-05',
    'events?api-version=newest',
    `events/Subscriptions/some?${NEW}`,
  ]) {
    const { text } = await broker.request('GET', path);
    assert.doesNotMatch(text, /FilterCount/, path);
  }
});

test('G29 filters of a removed subscription do not count, also before the sweep has removed them', async (t) => {
  const broker = await countedBus(t);
  expectStatus(await broker.request('DELETE', 'events/Subscriptions/some'), 200);
  const { text } = await broker.request('GET', `events?${NEW}`);
  assert.deepEqual(filtersIn(text), [[1, 0]]);
});

test('G29 the counts cost one more query of a topic, and nothing in other versions', async (t) => {
  const broker = await countedBus(t);
  const of = (version: string) =>
    broker.units(() => broker.request('GET', `events?api-version=${version}`));
  const [old, now] = [await of('2021-05'), await of('2024-05')];
  assert.deepEqual(
    { read: now.read - old.read, requests: now.requests - old.requests, write: now.write },
    { read: 0.5, requests: 1, write: 0 },
  );
});
