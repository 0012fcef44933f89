import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJson, type Json, putJson, sentenceOf } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';

/** Bodies that are refused, each with the path of what is wrong (docs/semantics/management.md, G26). */

const RULE = 't/subscriptions/s/rules/r';
const queue = (settings: Json) => JSON.stringify({ kind: 'queue', ...settings });
const rule = (parts: Json) => JSON.stringify(parts);

/** A path, a body, and the beginnings of the faults that the refusal must list. */
const WRONG: readonly (readonly [path: string, body: string, ...faults: string[]])[] = [
  // Bodies that are no description.
  ['q', '', 'The body is not valid JSON.'],
  ['q', '{"kind":"queue"', 'The body is not valid JSON.'],
  ['q', '{"kind":"queue"} x', 'The body is not valid JSON.'],
  ['q', "{'kind':'queue'}", 'The body is not valid JSON.'],
  ['q', '[]', 'The body must be a JSON object'],
  ['q', 'null', 'The body must be a JSON object'],
  ['q', '7.0', 'The body must be a JSON object'],
  ['q', '"queue"', 'The body must be a JSON object'],
  [
    'q',
    `{"kind":"queue","x":${'['.repeat(100)}${']'.repeat(100)}}`,
    'The body holds values more than 64',
  ],
  ['q', '{"kind":"queue","kind":"queue"}', 'The body has the member "kind" twice'],
  ['q', '{"kind":"queue","k\\u0069nd":"topic"}', 'The body has the member "k\\u0069nd" twice'],
  [
    'q',
    '{"kind":"queue","userMetadata":"\\ud800"}',
    'userMetadata: The text holds half of a surrogate pair',
  ],
  ...['\\u0000', '\\u0001', '\\u001f', '\\ufffe', '\\uffff'].map(
    (character) =>
      [
        'q',
        `{"kind":"queue","userMetadata":"a${character}"}`,
        `userMetadata: The text has the character U+${character.slice(2).toUpperCase()}, which XML`,
      ] as const,
  ),
  [
    'q',
    '{"kind":"queue","authorizationRules":[{"keyName":"\\u0007","accessRights":["Send"]}]}',
    'authorizationRules[0].keyName: The text has the character U+0007',
  ],
  [RULE, '{"sql":"a = \'\\u0007\'"}', 'sql: The text has the character U+0007'],
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
  [RULE, '{"correlation":{"properties":{"a":1,"a":2}}}', 'The body has the member "a" twice'],
  // The kind and the name.
  ['q', '{}', 'The kind is missing: add "kind":"queue" or "kind":"topic".'],
  ['q', '{"kind":null}', 'The kind is missing'],
  ['q', '{"__proto__":{"kind":"queue"}}', 'The kind is missing'],
  ['q', '{"kind":"Queue"}', 'kind: It must be "queue" or "topic" at this path, not "Queue".'],
  ['q', '{"kind":"subscription"}', 'kind: It must be "queue" or "topic"'],
  ['t/subscriptions/x', '{"kind":"queue"}', 'kind: It must be "subscription"'],
  ['q', queue({ name: 'p' }), 'name: It must be "q", as the path says, not "p".'],
  ['q', queue({ name: 7 }), 'name: It must be "q"'],
  [
    't/subscriptions/x',
    '{"topicName":"u","subscriptionName":"y"}',
    'topicName: It must be "t"',
    'subscriptionName: It must be "x"',
  ],
  // Unknown members.
  [
    'q',
    queue({ lockDurations: 'PT1M' }),
    'lockDurations: There is no such member: write lockDuration instead',
  ],
  ['q', queue({ subscriptionCount: 1 }), 'subscriptionCount: There is no such member'],
  [
    'q',
    queue({ filteringMessagesBeforePublishing: true }),
    'filteringMessagesBeforePublishing: It is a setting of a topic, not of a queue',
  ],
  ['q', '{"kind":"queue","__proto__":1}', '__proto__: There is no such member: remove it.'],
  ['q', queue({ 'a b': 1 }), '["a b"]: There is no such member'],
  ['q', queue({ rules: [] }), 'rules: Only a subscription has rules'],
  ['t/subscriptions/x', '{"rules":[]}', 'rules: Rules have addresses of their own'],
  ['q', queue({ defaultRule: {} }), 'defaultRule: Only a subscription has one, not a queue'],
  // Types and ranges, all at once.
  [
    'q',
    queue({
      lockDuration: 'soon',
      defaultMessageTimeToLive: 60,
      maxDeliveryCount: 0,
      maxSizeInMegabytes: '1024',
      requiresSession: 'true',
      status: 'Asleep',
      userMetadata: {},
      forwardTo: ['x'],
    }),
    "lockDuration: The value 'soon'",
    'defaultMessageTimeToLive: It must be an ISO 8601 duration',
    "maxDeliveryCount: The value '0'",
    'maxSizeInMegabytes: It must be a whole number, not "1024".',
    'requiresSession: It must be true or false, not "true".',
    "status: The value 'Asleep'",
    'userMetadata: It must be a text, not {}.',
    'forwardTo: It must be a text',
  ],
  ['q', queue({ lockDuration: 'PT6M' }), 'lockDuration: The supplied lock time exceeds'],
  ['q', queue({ autoDeleteOnIdle: 'PT1M' }), 'autoDeleteOnIdle: The value'],
  ['q', queue({ userMetadata: 'x'.repeat(1025) }), 'userMetadata: '],
  ['q', '{"kind":"queue","maxDeliveryCount":1e400}', 'maxDeliveryCount: It must be a whole number'],
  ['q', `{"kind":"queue","maxDeliveryCount":${'9'.repeat(400)}}`, 'maxDeliveryCount: '],
  [
    'q',
    '{"kind":"queue","maxDeliveryCount":2.5}',
    'maxDeliveryCount: It must be a whole number, not 2.5.',
  ],
  [
    'q',
    queue({ forwardTo: 'Q' }),
    'forwardTo: Entity cannot have auto-forwarding policy to itself.',
  ],
  ['q', queue({ authorizationRules: {} }), 'authorizationRules: It must be a list, not an object.'],
  [
    'q',
    queue({ authorizationRules: [{ keyName: 'a', accessRights: ['Read'] }, { rights: [] }] }),
    'authorizationRules[0].accessRights[0]: It must be Manage, Send or Listen',
    'authorizationRules[1].rights: There is no such property',
    'authorizationRules[1]: The keyName is missing',
  ],
  [
    'q',
    queue({ requiresDuplicateDetection: true, enableExpress: true }),
    'Both DelayedPersistence',
  ],
  // Rules.
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

test('a wrong description is refused with every fault and its path, and changes nothing', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  for (const [path, body, ...faults] of WRONG) {
    const answer = await putJson(broker, path, body);
    assert.equal(answer.status, 400, `${body}: ${answer.text}`);
    const sentence = sentenceOf(answer);
    assert.ok(sentence.startsWith('SubCode=40000. '));
    for (const fault of faults) assert.ok(sentence.includes(fault), `${fault} in ${sentence}`);
    const isSeveral = sentence.includes('The body has several faults.');
    assert.equal(isSeveral, faults.length > 1, sentence);
    expectStatus(await broker.request('GET', path), 404);
  }
});

test('a refusal is short, however much is wrong', async (t) => {
  const broker = await startBroker(t);
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`setting${i}`, i]));
  const answer = await putJson(broker, 'q', { kind: 'queue', ...many });
  expectStatus(answer, 400);
  assert.match(sentenceOf(answer), /setting0: .*There are 875 more faults\.$/);
  const name = 'x'.repeat(100_000);
  for (const wrong of [{ [name]: 1 }, { [name]: '\ud800' }, { [`${name}\ud800`]: 1 }]) {
    const long = await putJson(broker, 'q', { kind: 'queue', ...wrong });
    expectStatus(long, 400);
    assert.ok(sentenceOf(long).length < 4100);
  }
});

test('no refusal repeats a key', async (t) => {
  const broker = await startBroker(t);
  const key = 'SECRET_KEY';
  const policy = { keyName: 'app', accessRights: ['Send'] };
  const wrong: readonly unknown[] = [
    key,
    { keyName: 'app', primaryKey: key },
    [key],
    [[key]],
    [{ ...policy, primaryKey: [key] }],
    [{ ...policy, secondaryKey: { value: key } }],
    [{ ...policy, primaryKey: key }],
    [{ ...policy, primaryKey: key, key }],
  ];
  for (const authorizationRules of wrong) {
    const answer = await putJson(broker, 'q', { kind: 'queue', authorizationRules });
    expectStatus(answer, 400);
    assert.ok(!answer.text.includes(key), answer.text);
  }
});

test('a body has at most 128 KB and UTF-8', async (t) => {
  const broker = await startBroker(t);
  const body = `{"kind":"queue"}${' '.repeat(128 * 1024)}`;
  assert.match(sentenceOf(await putJson(broker, 'q', body)), /longer than 131072 bytes/);
  expectStatus(await putJson(broker, 'q', body.slice(0, 128 * 1024)), 201);
  const answer = await broker.request('PUT', 'p', {
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from([0x7b, 0xff, 0x7d]),
  });
  expectStatus(answer, 400);
  assert.match(sentenceOf(answer), /not valid UTF-8/);
});

test('members that only answers have are ignored, whatever they say, and null counts as absent', async (t) => {
  const broker = await startBroker(t);
  const body = {
    kind: 'queue',
    name: 'Q',
    lockDuration: null,
    forwardTo: null,
    activeMessageCount: 'x',
    totalMessageCount: -1,
    sizeInBytes: {},
    createdAt: [],
    accessedAt: null,
  };
  expectStatus(await putJson(broker, 'q', body), 201);
  assert.equal((await getJson(broker, 'q'))['lockDuration'], 'PT1M');
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
