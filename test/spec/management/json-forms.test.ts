import assert from 'node:assert/strict';
import { test } from 'node:test';
import { token } from '../../support/atom-client.ts';
import {
  getJson,
  JSON_TYPE,
  putJson,
  readJson,
  sentenceOf,
} from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';

/** Management in JSON beside ATOM (docs/semantics/management.md, G25 to G27). */

test('a JSON body is one of the type application/json, with any parameters; every other body is ATOM', async (t) => {
  const broker = await startBroker(t);
  const body = '{"kind":"queue"}';
  for (const type of [JSON_TYPE, 'Application/JSON ;charset=utf-8', 'application/json;odata=x']) {
    const name = `q${type.length}`;
    expectStatus(
      await broker.request('PUT', name, { headers: { 'Content-Type': type }, body }),
      201,
    );
  }
  for (const type of ['text/json', 'application/jsonx', 'text/plain', '']) {
    const headers: Record<string, string> = type === '' ? {} : { 'Content-Type': type };
    const answer = await broker.request('PUT', 'other', { headers, body });
    expectStatus(answer, 400);
    assert.match(answer.text, /^<Error>.*not XML that can be read/);
  }
});

test('the JSON of a queue, a topic, a subscription and a rule', async (t) => {
  const broker = await startBroker(t);
  const created = '2026-01-01T00:00:00.000Z';
  const times = { createdAt: created, modifiedAt: created };
  const counts = {
    activeMessageCount: 0,
    deferredMessageCount: 0,
    deadLetterMessageCount: 0,
    scheduledMessageCount: 0,
    transferMessageCount: 0,
    transferDeadLetterMessageCount: 0,
    totalMessageCount: 0,
    countsAreEstimates: false,
    sizeInBytes: 0,
  };
  const common = { status: 'Active', enableBatchedOperations: true };
  const ingress = {
    ...common,
    maxSizeInMegabytes: 1024,
    maxMessageSizeInKilobytes: 256,
    requiresDuplicateDetection: false,
    duplicateDetectionHistoryTimeWindow: 'PT10M',
    supportOrdering: true,
    enablePartitioning: false,
    enableExpress: false,
    isAnonymousAccessible: false,
    authorizationRules: [],
  };
  const delivery = {
    ...common,
    lockDuration: 'PT1M',
    maxDeliveryCount: 10,
    requiresSession: false,
    deadLetteringOnMessageExpiration: false,
  };
  const expected = {
    Orders: { kind: 'queue', name: 'Orders', ...ingress, ...delivery, ...counts, ...times },
    events: {
      kind: 'topic',
      name: 'events',
      ...ingress,
      ...counts,
      ...times,
      filteringMessagesBeforePublishing: false,
      enableSubscriptionPartitioning: false,
      subscriptionCount: 0,
    },
    'events/Subscriptions/Audit': {
      kind: 'subscription',
      name: 'events/Subscriptions/Audit',
      topicName: 'events',
      subscriptionName: 'Audit',
      ...delivery,
      ...counts,
      ...times,
      deadLetteringOnFilterEvaluationExceptions: true,
      forwardTo: 'Orders',
    },
    'events/Subscriptions/Audit/Rules/large': {
      name: 'large',
      sql: { expression: 'Quantity > @min', parameters: { min: 100 } },
      action: 'SET x = 1',
      ...times,
    },
  };
  const bodies = {
    Orders: { kind: 'queue' },
    events: { kind: 'topic', name: 'EVENTS' },
    'events/Subscriptions/Audit': { forwardTo: 'Orders' },
    'events/Subscriptions/Audit/Rules/large': {
      sql: { expression: 'Quantity > @min', parameters: { min: 100 } },
      action: 'SET x = 1',
    },
  };
  for (const [path, wanted] of Object.entries(expected)) {
    const answer = await putJson(broker, path, bodies[path as keyof typeof bodies]);
    expectStatus(answer, 201);
    assert.deepEqual(answer.json(), wanted);
    const read = await readJson(broker, path);
    // The topic has no subscription yet.
    assert.deepEqual(read.json(), wanted);
    assert.equal(read.headers.get('etag'), answer.headers.get('etag'));
  }
  const at = await broker.send('orders', 'hello');
  expectStatus(at, 201);
  const used = await getJson(broker, 'orders');
  assert.equal(used['activeMessageCount'], 1);
  assert.equal(used['totalMessageCount'], 1);
  assert.ok(Number(used['sizeInBytes']) > 0);
  assert.equal(used['accessedAt'], created);
  assert.equal((await getJson(broker, 'events'))['subscriptionCount'], 1);
});

test('an unlimited duration is left out, and is read as text too', async (t) => {
  const broker = await startBroker(t);
  const unlimited = 'P10675199DT2H48M5.4775807S';
  expectStatus(
    await putJson(broker, 'q', {
      kind: 'queue',
      defaultMessageTimeToLive: unlimited,
      autoDeleteOnIdle: unlimited,
    }),
    201,
  );
  const json = await getJson(broker, 'q');
  assert.ok(!('defaultMessageTimeToLive' in json) && !('autoDeleteOnIdle' in json));
});

test('lists and the namespace are JSON for who accepts it, page by page', async (t) => {
  const broker = await startBroker(t);
  for (const name of ['a', 'b', 'c']) {
    expectStatus(await broker.createQueue(name), 201);
    expectStatus(await putJson(broker, `t${name}`, { kind: 'topic' }), 201);
    expectStatus(await putJson(broker, `ta/Subscriptions/${name}`, {}), 201);
    const rule = `ta/Subscriptions/a/Rules/${name}`;
    expectStatus(await putJson(broker, rule, { sql: 'x = 1' }), 201);
  }
  for (const [path, list, names] of [
    ['$Resources/Queues', 'entities', ['a', 'b', 'c']],
    ['$Resources/Topics', 'entities', ['ta', 'tb', 'tc']],
    ['ta/Subscriptions', 'entities', ['a', 'b', 'c'].map((name) => `ta/Subscriptions/${name}`)],
    ['ta/Subscriptions/a/Rules', 'rules', ['$Default', 'a', 'b', 'c']],
  ] as const) {
    const found: unknown[] = [];
    for (let next: string | undefined = `${path}?$top=2`; next !== undefined; ) {
      const page: Readonly<Record<string, unknown>> = await getJson(broker, next);
      const items = page[list] as { name: string }[];
      assert.ok(items.length <= 2);
      found.push(...items.map(({ name }) => name));
      next = page['next'] as string | undefined;
    }
    assert.deepEqual(found, names, path);
  }
  assert.deepEqual(await getJson(broker, '$namespaceinfo'), {
    name: broker.namespace,
    messagingSku: 'Standard',
  });
});

test('rights, If-Match, conflicts and missing entities are the same in JSON, with errors in JSON', async (t) => {
  const broker = await startBroker(t);
  const body = { kind: 'queue' };
  const created = await putJson(broker, 'q', body);
  expectStatus(created, 201);
  const tag = created.headers.get('etag') ?? '';
  const refusals = [
    [409, /already exists/, await putJson(broker, 'Q', body)],
    [404, /other/, await putJson(broker, 'other', body, { 'If-Match': '*' })],
    [412, /was changed meanwhile/, await putJson(broker, 'q', body, { 'If-Match': '"x"' })],
    [400, /auto forwarding destination/, await putJson(broker, 'p', { ...body, forwardTo: 'x' })],
    [404, /could not be found/, await putJson(broker, 'x/Subscriptions/s', {})],
    [
      400,
      /can't be changed/,
      await putJson(broker, 'q', { ...body, requiresSession: true }, { 'If-Match': tag }),
    ],
    [405, /supported: GET/, await putJson(broker, '$Resources/Queues', body)],
    [400, /comes and goes with its entity/, await putJson(broker, 'q/$deadletterqueue', body)],
    [
      400,
      /is not that of a queue|as the path is that of one/,
      await putJson(broker, 't/Subscriptions/s', body),
    ],
  ] as const;
  for (const [status, sentence, answer] of refusals) {
    assert.equal(answer.status, status, answer.text);
    assert.match(sentenceOf(answer), sentence);
  }
  expectStatus(await putJson(broker, 'q', body, { 'If-Match': tag }), 200);
  const anonymous = await broker.request('PUT', 'q', {
    authorization: null,
    headers: { 'Content-Type': JSON_TYPE },
    body: '{"kind":',
  });
  expectStatus(anonymous, 401);
  assert.match(sentenceOf(anonymous), /MissingToken/);
});

test('a body of JSON without its type is refused with what it needs', async (t) => {
  const broker = await startBroker(t);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const answer = await broker.request('PUT', 'q', { headers, body: '{"kind":"queue"}' });
  expectStatus(answer, 400);
  assert.match(answer.text, /JSON needs the header Content-Type: application\/json\./);
});

test('a destination of a forward needs Manage in JSON too', async (t) => {
  const broker = await startBroker(t);
  const key = 'K'.repeat(44);
  const rule = { keyName: 'k', accessRights: ['Manage', 'Send', 'Listen'], primaryKey: key };
  expectStatus(await putJson(broker, 'to', { kind: 'queue' }), 201);
  expectStatus(await putJson(broker, 'from', { kind: 'queue', authorizationRules: [rule] }), 201);
  const authorization = token('/from', { keyName: 'k', key });
  const body = JSON.stringify({ kind: 'queue', authorizationRules: [rule], forwardTo: 'to' });
  const headers = { 'Content-Type': JSON_TYPE, 'If-Match': '*' };
  const refused = await broker.request('PUT', 'from', { authorization, headers, body });
  expectStatus(refused, 401);
  assert.match(sentenceOf(refused), /^40\d{3}: /);
  expectStatus(await broker.request('PUT', 'from', { headers, body }), 200);
});
