import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJson, type Json, putJson } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { requireRefusals, type WrongBody } from './wrong-bodies.ts';

/** Rules in JSON that are refused, each with the path of what is wrong (docs/semantics/management.md, G26). */

const RULE = 't/subscriptions/s/rules/r';
const rule = (parts: Json) => JSON.stringify(parts);

/** Values of which each fits alone. */
const LONG = Object.fromEntries(['p01', 'p02', 'p03'].map((name) => [name, 'x'.repeat(30_000)]));

const WRONG: readonly WrongBody[] = [
  [RULE, '{"sql":"a = \'\\u0007\'"}', 'sql: The text has the character U+0007'],
  [RULE, '{"correlation":{"properties":{"a":1,"a":2}}}', 'The body has the property "a" twice'],
  [
    RULE,
    '{"correlation":{"subject":"\\u0007"}}',
    'correlation.subject: The text has the character U+0007',
  ],
  [
    RULE,
    '{"correlation":{"properties":{"a\\u0000":"x"}}}',
    'correlation.properties["a\\u0000"]: The name has the character U+0000',
  ],
  [
    't/subscriptions/x',
    '{"defaultRule":"x = 1"}',
    'defaultRule: It must be an object such as {"sql":"Quantity > 100"}',
  ],
  [
    't/subscriptions/x',
    '{"defaultRule":{"name":7}}',
    'defaultRule.name: It must be a text, not 7.',
  ],
  [
    't/subscriptions/x',
    '{"defaultRule":{"sql":"x ="}}',
    'defaultRule.sql: The expression of the filter is not valid.',
  ],
  [RULE, '"x = 1"', 'The body must be a JSON object'],
  [RULE, rule({ name: 'other' }), 'name: It must be "r", as the path says, not "other".'],
  [
    RULE,
    rule({ sql: 'x = 1', correlation: { subject: 'a' } }),
    'A rule has one filter: remove sql or correlation.',
  ],
  [RULE, rule({ sql: 7 }), 'sql: It must be a text or an object with an expression, not 7.'],
  [RULE, '{"name":7.0}', 'name: It must be "r", as the path says, not 7.'],
  [RULE, rule({ foo: null }), 'foo: There is no such property'],
  [
    RULE,
    rule({ correlation: { properties: { p: { $number: 'abc' } } } }),
    'an object with the text "$number" alone',
  ],
  [
    RULE,
    rule({ sql: { expression: 'a = 1', parameters: LONG } }),
    'sql.expression: The parameters of the filter are 90009 bytes long',
  ],
  [
    RULE,
    rule({ correlation: { properties: LONG } }),
    'correlation: The properties of the filter are 90009 bytes long',
  ],
  [RULE, '{"sql":7.0}', 'sql: It must be a text or an object with an expression, not 7.'],
  [RULE, rule({ sql: {} }), 'sql: The expression is missing: add it.'],
  [
    RULE,
    rule({ subject: 'x' }),
    'subject: It is a condition of a correlation filter: move it into correlation.',
  ],
  [
    RULE,
    rule({ correlation: {} }),
    'correlation: A correlation filter needs at least one condition.',
  ],
  [RULE, rule({ correlation: { label: 'x' } }), 'correlation.label: There is no such property'],
  [
    RULE,
    rule({ correlation: { properties: { '': 'x' } } }),
    'correlation.properties[""]: The name of a property or parameter is empty',
  ],
  [
    RULE,
    rule({ sql: { expression: 'a = 1', parameters: { '': 1 } } }),
    'sql.parameters[""]: The name of a property or parameter is empty',
  ],
  [
    RULE,
    rule({ correlation: { properties: { a: [] } } }),
    "correlation.properties.a: The property 'a' is a list",
  ],
  [
    RULE,
    '{"correlation":{"subject":7,"properties":{"a":[],"b":{"$guid":"x"},"c":1e400,"d":{"$date":"soon"},"e":{"x":1}}},"action":{"expression":"SET y = @p"}}',
    'correlation.subject: It must be a text, not 7.',
    "correlation.properties.a: The property 'a' is a list",
    "correlation.properties.b: The property 'b' holds no value of the type $guid.",
    "correlation.properties.c: The property 'c' is a number that fits no 64 bits.",
    'correlation.properties.d: ',
    "correlation.properties.e: The property 'e' is an object",
    'action.expression: The expression of the action is not valid.',
  ],
];

test('a wrong rule is refused with every fault and its path, and changes nothing', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  await requireRefusals(broker, WRONG);
});

test('properties of a rule called __proto__ and null are values like any other', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  const text = '{"correlation":{"properties":{"__proto__":"a","constructor":7,"n":null}}}';
  expectStatus(await putJson(broker, RULE, text), 201);
  const { correlation } = await getJson(broker, RULE);
  assert.deepEqual(Object.entries((correlation as { properties: object }).properties), [
    ['__proto__', 'a'],
    ['constructor', 7],
    ['n', null],
  ]);
});
