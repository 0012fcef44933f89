import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJson, type Json, putJson, sentenceOf } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { requireRefusals, type WrongBody } from './wrong-bodies.ts';

/** Bodies that are refused, each with the path of what is wrong (docs/semantics/management.md, G26). */

const queue = (settings: Json) => JSON.stringify({ kind: 'queue', ...settings });

const WRONG: readonly WrongBody[] = [
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
  ['q', '{"kind":"queue","kind":"queue"}', 'The body has the property "kind" twice'],
  ['q', '{"kind":"queue","k\\u0069nd":"topic"}', 'The body has the property "k\\u0069nd" twice'],
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
    'lockDurations: There is no such property: write lockDuration instead',
  ],
  ['q', queue({ subscriptionCount: 1 }), 'subscriptionCount: There is no such property'],
  [
    'q',
    queue({ filteringMessagesBeforePublishing: true }),
    'filteringMessagesBeforePublishing: It is a setting of a topic, not of a queue',
  ],
  ['q', '{"kind":"queue","__proto__":1}', '__proto__: There is no such property: remove it.'],
  ['q', queue({ 'a b': 1 }), '["a b"]: There is no such property'],
  ['q', queue({ rules: [] }), 'rules: Only a subscription has rules'],
  ['t/subscriptions/x', '{"rules":[]}', 'rules: Rules have addresses of their own'],
  ['q', queue({ defaultRule: {} }), 'defaultRule: Only a subscription has one, not a queue'],
  // Null is a default only where there is a setting.
  ['q', queue({ foo: null }), 'foo: There is no such property'],
  ['q', queue({ rules: null }), 'rules: Only a subscription has rules'],
  // Numbers as the parser notes them.
  [
    'q',
    queue({ maxDeliveryCount: { $number: '0x10' } }),
    'an object with the text "$number" alone',
  ],
  ['q', queue({ maxDeliveryCount: { $number: '16' } }), 'an object with the text "$number" alone'],
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
      forwardDeadLetteredMessagesTo: 'a b',
    }),
    "lockDuration: The value 'soon'",
    'defaultMessageTimeToLive: It must be an ISO 8601 duration',
    "maxDeliveryCount: The value '0'",
    'maxSizeInMegabytes: It must be a whole number, not "1024".',
    'requiresSession: It must be true or false, not "true".',
    "status: The value 'Asleep'",
    'userMetadata: It must be a text, not {}.',
    'forwardTo: It must be a text',
    "forwardDeadLetteredMessagesTo: The name 'a b' is not valid",
  ],
  ['q', queue({ forwardTo: 'a b' }), "forwardTo: The name 'a b' is not valid"],
  ['q', queue({ forwardTo: ' / ' }), "forwardTo: The value '/' of the destination has no name."],
  ['q', queue({ forwardTo: 'sb://x/' }), "forwardTo: The value 'sb://x/' of the destination"],
  ['t/subscriptions/x', '{"forwardTo":"http://x"}', "forwardTo: The value 'http://x'"],
  ['q', queue({ lockDuration: 'PT6M' }), 'lockDuration: The supplied lock time exceeds'],
  ['q', queue({ autoDeleteOnIdle: 'PT1M' }), 'autoDeleteOnIdle: The value'],
  ['q', queue({ userMetadata: 'x'.repeat(1025) }), 'userMetadata: '],
  [
    'q',
    '{"kind":"queue","maxDeliveryCount":1e400}',
    'maxDeliveryCount: It must be a whole number, not Infinity.',
  ],
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
  [
    'q',
    queue({ authorizationRules: [null] }),
    'authorizationRules[0]: It must be an object, not null.',
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
];

test('a wrong description is refused with every fault and its path, and changes nothing', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  await requireRefusals(broker, WRONG);
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
