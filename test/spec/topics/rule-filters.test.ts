import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  correlation,
  createRuledSubscription,
  createTopic,
  drainBodies,
  EVERYTHING,
  NOTHING,
  sql,
  subscription,
  type Value,
} from '../../support/topic-entities.ts';

/** A topic with one subscription for each filter, by number. */
async function start(t: TestContext, filters: readonly string[]): Promise<TestBroker> {
  const broker = await startBroker(t);
  await createTopic(broker);
  for (const [i, filter] of filters.entries()) {
    await createRuledSubscription(broker, subscription(`s${i}`), { only: { filter } });
  }
  return broker;
}

/** The bodies that each subscription received, by its filter. */
async function got(
  broker: TestBroker,
  filters: readonly string[],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const found: [string, readonly string[]][] = [];
  for (const [i, filter] of filters.entries()) {
    found.push([filter, await drainBodies(broker, subscription(`s${i}`))]);
  }
  return Object.fromEntries(found);
}

type Properties = Readonly<Record<string, unknown>>;

const message = (Body: string, UserProperties: Properties, BrokerProperties: Properties = {}) => ({
  Body,
  UserProperties,
  BrokerProperties,
});

/** Sends the messages, and requires that each expression selects exactly the bodies listed for it. */
async function requireSelection(
  t: TestContext,
  messages: readonly BatchMessage[],
  selected: Readonly<Record<string, string>>,
): Promise<void> {
  const expressions = Object.keys(selected);
  const broker = await start(
    t,
    expressions.map((expression) => sql(expression)),
  );
  expectStatus(await broker.sendBatch('t', messages), 201);
  const found = await got(broker, expressions);
  for (const [expression, names] of Object.entries(selected)) {
    assert.equal((found[expression] ?? []).join(' '), names, expression);
  }
}

const COLORS = [
  message('red', { color: 'red' }),
  message('blue', { color: 'blue' }),
  message('none', {}),
];

test('#105 a comparison with a missing property is unknown, which does not match', async (t) => {
  await requireSelection(t, COLORS, {
    "color = 'red'": 'red',
    "color <> 'red'": 'blue',
    "color != 'red'": 'blue',
    'color IS NULL': 'none',
    'color IS NOT NULL': 'red blue',
    "color IS NULL OR color <> 'red'": 'blue none',
  });
});

test('#106 the negation of unknown is unknown', async (t) => {
  await requireSelection(t, COLORS, {
    "NOT (color = 'red')": 'blue',
    "NOT (NOT (color = 'red'))": 'red',
    "NOT (color = 'red' AND 1 = 0)": 'red blue none',
    "color = 'red' OR 1 = 1": 'red blue none',
  });
});

test('#107 EXISTS is true or false, never unknown', async (t) => {
  await requireSelection(t, COLORS, {
    'EXISTS(color)': 'red blue',
    'NOT EXISTS(color)': 'none',
    "EXISTS(color) AND color <> 'red'": 'blue',
  });
});

test('#108 a missing property is neither IN nor NOT IN', async (t) => {
  const messages = [message('1', { x: 1 }), message('3', { x: 3 }), message('none', { y: 1 })];
  await requireSelection(t, messages, {
    'x IN (1, 2)': '1',
    'x NOT IN (1, 2)': '3',
    'NOT (x IN (1, 2))': '3',
    'y NOT IN (2)': 'none',
  });
});

test('#109 LIKE treats % and _ as wildcards unless they are escaped', async (t) => {
  const messages = ['a_b', 'axb', 'a_', 'b_a'].map((Name) => message(Name, { Name }));
  await requireSelection(t, messages, {
    "Name LIKE 'a\\_%' ESCAPE '\\'": 'a_b a_',
    "Name LIKE 'a_b'": 'a_b axb',
    "Name LIKE 'a%'": 'a_b axb a_',
    "Name NOT LIKE 'a%'": 'b_a',
    "Name LIKE '%!_a' ESCAPE '!'": 'b_a',
  });
});

test('#110 names in brackets or double quotes may contain any character', async (t) => {
  const messages = [message('1', { 'my prop': 1 }), message('2', { 'my prop': 2, 'a]b': 1 })];
  await requireSelection(t, messages, {
    '[my prop] = 1': '1',
    '"my prop" = 1': '1',
    'user.[my prop] = 2': '2',
    '[a]]b] = 1': '2',
  });
});

test('#111 a system property that is absent does not match', async (t) => {
  const messages = [
    message('x', {}, { Label: 'x' }),
    message('y', {}, { Label: 'y' }),
    message('none', {}),
  ];
  await requireSelection(t, messages, {
    "sys.Label = 'x'": 'x',
    "sys.label <> 'x'": 'y',
    'sys.Label IS NULL': 'none',
    // Without a scope the name means a user property.
    "Label = 'x'": '',
  });
});

test('filters see the system properties that a message has when it arrives', async (t) => {
  const system = {
    MessageId: 'm',
    CorrelationId: 'c',
    ReplyTo: 'r',
    To: 'to',
    SessionId: 's',
    ReplyToSessionId: 'rs',
    PartitionKey: 's',
    ContentType: 'text/plain',
  };
  const texts = Object.entries(system).map(([name, value]) => `sys.${name} = '${value}'`);
  await requireSelection(
    t,
    [message('all', {}, { ...system, TimeToLive: 60 }), message('none', {})],
    {
      ...Object.fromEntries(texts.map((expression) => [expression, 'all'])),
      [texts.join(' AND ')]: 'all',
      'sys.ExpiresAtUtc > sys.EnqueuedTimeUtc AND sys.CorrelationId IS NOT NULL': 'all',
    },
  );
});

/** The colour data set of the vendor's live tests. */
const ORDERS = [
  ['blue', 5, 'low'],
  ['red', 10, 'high'],
  ['yellow', 5, 'low'],
  ['blue', 10, 'low'],
  ['blue', 5, 'high'],
  ['blue', 10, 'low'],
  ['red', 5, 'low'],
  ['red', 10, 'low'],
  ['red', 5, 'low'],
  ['yellow', 10, 'high'],
  ['yellow', 5, 'low'],
  ['yellow', 10, 'low'],
] as const;

const DATA = [
  ...ORDERS.map(([color, quantity, priority], i) =>
    message(`${i}`, { color, quantity, priority }, { Label: color, CorrelationId: priority }),
  ),
  message('without properties', {}),
  message('odd', { priority: '1%' }),
  message('not as odd', { priority: '1x' }),
];

/** Filters over that data set, and the number of messages that each of them selects. */
const COUNTS: readonly (readonly [what: string, filter: string, count: number])[] = [
  ["color = 'red'", sql("color = 'red'"), 4],
  ["color='blue' and quantity = 10", sql("color='blue' and quantity = 10"), 2],
  ["color = 'blue' OR quantity = 10", sql("color = 'blue' OR quantity = 10"), 8],
  ['1=1', sql('1=1'), 15],
  ['1=0', sql('1=0'), 0],
  ["sys.Label = 'red'", sql("sys.Label = 'red'"), 4],
  ["color IN ('red','blue')", sql("color IN ('red','blue')"), 8],
  ["color LIKE 'bl%'", sql("color LIKE 'bl%'"), 4],
  ['EXISTS(color)', sql('EXISTS(color)'), 12],
  ['NOT EXISTS(color)', sql('NOT EXISTS(color)'), 3],
  ['color IS NULL', sql('color IS NULL'), 3],
  ["priority LIKE '1\\%' ESCAPE '\\'", sql("priority LIKE '1\\%' ESCAPE '\\'"), 1],
  ['the filter that is always true', EVERYTHING, 15],
  ['the filter that is always false', NOTHING, 0],
  ['Label red', correlation({ Label: 'red' }), 4],
  ['Label red, CorrelationId high', correlation({ Label: 'red', CorrelationId: 'high' }), 1],
  [
    'color yellow, quantity 5',
    correlation({}, { color: ['string', 'yellow'], quantity: ['int', '5'] }),
    2,
  ],
];

test('each filter selects the expected number of messages of the colour data set', async (t) => {
  const filters = COUNTS.map(([, filter]) => filter);
  const broker = await start(t, filters);
  expectStatus(await broker.sendBatch('t', DATA), 201);
  const counts = await got(broker, filters);
  assert.deepEqual(
    COUNTS.map(([what, filter]) => [what, counts[filter]?.length]),
    COUNTS.map(([what, , count]) => [what, count]),
  );
});

test('#114 #115 a correlation filter is case-sensitive, and all of its conditions must match', async (t) => {
  const one: Record<string, Value> = { prop: ['int', '1'] };
  const filters = [
    correlation({ Label: 'red' }),
    correlation({ Label: 'red' }, one),
    correlation({}, one),
    correlation({}, { prop: ['long', '1'] }),
    correlation({}, { prop: ['string', '1'] }),
    correlation({ MessageId: 'm', SessionId: 's' }),
  ];
  const broker = await start(t, filters);
  const sent = [
    message('red', {}, { Label: 'red' }),
    message('Red', { prop: 1 }, { Label: 'Red' }),
    message('both', { prop: 1 }, { Label: 'red' }),
    message('ids', { prop: 2 }, { MessageId: 'm', SessionId: 's' }),
    message('one id', {}, { MessageId: 'm' }),
  ];
  expectStatus(await broker.sendBatch('t', sent), 201);
  assert.deepEqual(Object.values(await got(broker, filters)), [
    ['red', 'both'],
    ['both'],
    ['Red', 'both'],
    ['Red', 'both'],
    [],
    ['ids'],
  ]);
});

test('filter parameters are typed, and dates and durations can be compared', async (t) => {
  const filters = [
    sql('quantity > @min AND color = @color', {
      '@min': ['int', '4'],
      '@color': ['string', "it's <red> & blue"],
    }),
    sql('at >= @at', { '@at': ['dateTime', '2026-01-02T03:04:05Z'] }),
    sql('(until - at) <= @span', { '@span': ['duration', 'PT1H'] }),
    sql('yes = @yes', { '@yes': ['boolean', 'true'] }),
    sql('price < @limit', { '@limit': ['double', '1.5'] }),
  ];
  const broker = await start(t, filters);
  const date = (text: string) => ({ $date: text });
  const sent = [
    message('a', { quantity: 5, color: "it's <red> & blue", price: 1.4, yes: true }),
    message('b', { quantity: 4, color: "it's <red> & blue", price: 1.5, yes: false }),
    message('c', { at: date('2026-01-02T03:04:05.000Z'), until: date('2026-01-02T04:04:05.000Z') }),
    message('d', { at: date('2026-01-02T03:04:04.000Z'), until: date('2026-01-02T04:04:05.000Z') }),
  ];
  expectStatus(await broker.sendBatch('t', sent), 201);
  assert.deepEqual(Object.values(await got(broker, filters)), [['a'], ['c'], ['c'], ['a'], ['a']]);
});

test('filters see the types of properties that were sent as HTTP headers', async (t) => {
  const filters = [sql("priority = 'High'"), sql('quantity + 1 = 8'), sql('express = TRUE')];
  const broker = await start(t, filters);
  const headers = { Priority: '"High"', Quantity: '7', Express: 'true' };
  expectStatus(await broker.send('t', 'x', {}, headers), 201);
  assert.deepEqual(Object.values(await got(broker, filters)), [['x'], ['x'], ['x']]);
});
