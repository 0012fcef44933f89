import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnyConfig, parseConfig, parseDescription } from '../../../local/config/parse.ts';
import { CONFIG_LIMITS } from '../../../shared/config/config-limits.ts';
import { faultsOf } from './faults-of.ts';

/** Every kind of fault of either form, with the exact line. */

const NAMESPACE = 'UserConfig.Namespaces[0]';
const PROPERTIES = `${NAMESPACE}.Queues[0].Properties`;
const RULES = `${NAMESPACE}.Topics[0].Subscriptions[0].Rules`;
const OWN_RULES = 'topics[0].subscriptions[0].rules';

const inFile = (namespace: unknown) =>
  faultsOf(() => parseConfig({ UserConfig: { Namespaces: [namespace] } }));
const queueInFile = (Properties: unknown) => inFile({ Queues: [{ Name: 'a', Properties }] });
const ruleInFile = (Properties: unknown, Name: unknown = 'r') =>
  inFile({
    Topics: [{ Name: 't', Subscriptions: [{ Name: 's', Rules: [{ Name, Properties }] }] }],
  });
const inShort = (value: unknown) => faultsOf(() => parseDescription(value));
const rulesInShort = (rules: unknown) =>
  inShort({ topics: [{ name: 't', subscriptions: [{ name: 's', rules }] }] });

/** By title: what is wrong, and the lines about it. */
const CASES: Readonly<Record<string, readonly [() => readonly string[], ...string[]]>> = {
  'an unknown property with a similar name': [
    () => queueInFile({ LockDuraton: 'PT1M' }),
    `${PROPERTIES}.LockDuraton: There is no such property: write LockDuration instead, or remove it.`,
  ],
  'an unknown property of a rule': [
    () => ruleInFile({ FilterType: 'Sql', SqlFilter: { SqlExpression: 'a=1' }, Comment: 'x' }),
    `${RULES}[0].Properties.Comment: There is no such property: remove it, or use one of FilterType, SqlFilter, CorrelationFilter and Action.`,
  ],
  'a property beside the Properties': [
    () => inFile({ Queues: [{ Name: 'a', LockDuration: 'PT1M' }] }),
    `${NAMESPACE}.Queues[0].LockDuration: It is a property of a queue: move it into the Properties.`,
  ],
  'a setting of another kind of entity': [
    () => inShort({ queues: [{ name: 'a', rules: [] }] }).map((line) => line.slice(0, 61)),
    'queues[0].rules: There is no such property: remove it, or use',
  ],
  'wrong types': [
    () =>
      queueInFile({
        RequiresSession: 'yes',
        MaxDeliveryCount: 1.5,
        LockDuration: 60,
        ForwardTo: 5,
        UserMetadata: {},
        AuthorizationRules: {},
      }),
    `${PROPERTIES}.UserMetadata: It must be a text, not {}.`,
    `${PROPERTIES}.AuthorizationRules: It must be a list, not an object.`,
    `${PROPERTIES}.LockDuration: It must be an ISO 8601 duration such as "PT30S", or numbers of days, hours, minutes, seconds and milliseconds, not 60.`,
    `${PROPERTIES}.RequiresSession: It must be true or false, not "yes".`,
    `${PROPERTIES}.MaxDeliveryCount: It must be a whole number, not 1.5.`,
    `${PROPERTIES}.ForwardTo: It must be a text, not 5.`,
  ],
  'values out of their ranges': [
    () =>
      queueInFile({
        LockDuration: 'PT6M',
        MaxDeliveryCount: 0,
        DefaultMessageTimeToLive: 'PT0S',
        AutoDeleteOnIdle: 'PT1M',
        Status: 'Off',
        MaxSizeInMegabytes: 3,
      }),
    `${PROPERTIES}.DefaultMessageTimeToLive: The value 'PT0S' of the 'defaultMessageTimeToLive' property is below the minimum of 'PT1S'.`,
    `${PROPERTIES}.AutoDeleteOnIdle: The value 'PT1M' of the 'autoDeleteOnIdle' property is below the minimum of 'PT5M'.`,
    `${PROPERTIES}.Status: The value 'Off' of the 'status' property is not one of Active, Disabled, SendDisabled, ReceiveDisabled.`,
    `${PROPERTIES}.MaxSizeInMegabytes: The value '3' of the 'maxSizeInMegabytes' property is not one of 1024, 2048, 3072, 4096, 5120, 10240, 20480, 40960, 81920.`,
    `${PROPERTIES}.LockDuration: The supplied lock time exceeds the allowed maximum of '5' minutes. It was 'PT6M'.`,
    `${PROPERTIES}.MaxDeliveryCount: The value '0' of the 'maxDeliveryCount' property is not a whole number from 1 to 2147483647.`,
  ],
  'a text that is no duration': [
    () => inShort({ queues: [{ name: 'a', lockDuration: '1 minute' }] }),
    "queues[0].lockDuration: The value '1 minute' of this property is not an ISO 8601 duration.",
  ],
  'an object that is no duration': [
    () => inShort({ queues: { a: { lockDuration: { sec: 1 } }, b: { lockDuration: {} } } }),
    ...['a', 'b'].map(
      (name) =>
        `queues.${name}.lockDuration: It must be an ISO 8601 duration such as "PT30S", or numbers of days, hours, minutes, seconds and milliseconds, not ${name === 'a' ? '{"sec":1}' : '{}'}.`,
    ),
  ],
  'settings that exclude each other': [
    () => queueInFile({ EnableExpress: true, RequiresDuplicateDetection: true }),
    `${NAMESPACE}.Queues[0]: Both DelayedPersistence and RequiresDuplicateDetection property can't be enabled together.`,
  ],
  'a missing name': [
    () => inFile({ Queues: [{ Properties: {} }], Topics: [{}] }),
    `${NAMESPACE}.Queues[0]: The Name is missing: add it.`,
    `${NAMESPACE}.Topics[0]: The Name is missing: add it.`,
  ],
  'names that nobody may have': [
    () => inShort({ queues: ['a b', 'health'], topics: [{ name: 't', subscriptions: ['a/b'] }] }),
    "queues[0]: The name 'a b' is not valid: the entity segment can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), must begin with a letter, number or underscore, and must end with one of these or a hyphen.",
    "queues[1]: The name 'health' is not valid: it is an address of the service itself.",
    "topics[0].subscriptions[0]: The name 'a/b' is not valid: it can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), and must begin and end with a letter, number or underscore.",
  ],
  'names that occur twice': [
    () =>
      inShort({
        queues: ['a'],
        topics: [
          { name: 'A', subscriptions: ['s', { name: 'S', rules: [{ name: 'r' }, { name: 'R' }] }] },
        ],
      }),
    "topics[0].name: The name 'A' is that of queues[0] too, and case does not count: choose another.",
    "topics[0].subscriptions[1].name: The name 'S' is that of topics[0].subscriptions[0] too, and case does not count: choose another.",
    "topics[0].subscriptions[1].rules[1].name: The name 'R' is that of topics[0].subscriptions[1].rules[0] too, and case does not count: choose another.",
  ],
  'another name than the key of a record': [
    () => inShort({ queues: { 'queue.1': { name: 'b' } } }),
    'queues["queue.1"].name: It must be "queue.1", as its key, not "b".',
  ],
  'what is no entity': [
    () => inShort({ queues: [5], topics: 'events' }),
    'queues[0]: It must be a name, or an object with a name, not 5.',
    'topics: It must be a list, or an object by name, not "events".',
  ],
  'no namespace': [
    () => faultsOf(() => parseConfig({ UserConfig: {} })),
    'UserConfig.Namespaces: A file has exactly one namespace, and this one has none: add it.',
  ],
  'two namespaces': [
    () => faultsOf(() => parseAnyConfig({ UserConfig: { Namespaces: [{}, {}] } })),
    'UserConfig.Namespaces: A file has exactly one namespace, not 2: keep one, and start a server of its own for each other.',
  ],
  'a whole that is no configuration': [
    () => [...faultsOf(() => parseAnyConfig([])), ...faultsOf(() => parseConfig({}))],
    'It must be an object with queues, topics or both, not [].',
    'The UserConfig is missing: add it.',
  ],
  'an SQL filter that does not parse': [
    () => ruleInFile({ FilterType: 'Sql', SqlFilter: { SqlExpression: 'a >' } }),
    `${RULES}[0].Properties.SqlFilter.SqlExpression: The expression of the filter is not valid. Line 1, column 4: expected a value or a condition, found the end of the text.`,
  ],
  'an action that does not parse': [
    () => rulesInShort({ r: { action: 'SET' } }),
    `${OWN_RULES}.r.action: The expression of the action is not valid. Line 1, column 4: expected a value or a condition, found the end of the text.`,
  ],
  'a parameter without a value': [
    () => rulesInShort({ r: { sql: { expression: 'a = @x' } } }),
    `${OWN_RULES}.r.sql.expression: The expression of the filter is not valid. Line 1, column 5: the parameter @x has no value.`,
  ],
  'a rule with two filters': [
    () => rulesInShort({ r: { sql: 'a = 1', correlation: { to: 'x' } } }),
    `${OWN_RULES}.r: A rule has one filter: remove sql or correlation.`,
  ],
  'a rule with two filters, each of which has a fault': [
    () => rulesInShort({ r: { sql: 'a =', correlation: {} } }),
    `${OWN_RULES}.r: A rule has one filter: remove sql or correlation.`,
  ],
  'a condition beside the correlation': [
    () => rulesInShort({ r: { correlationId: 'x', action: 'SET a = 1' } }),
    `${OWN_RULES}.r.correlationId: It is a condition of a correlation filter: move it into correlation.`,
  ],
  'a condition beside the CorrelationFilter': [
    () => ruleInFile({ FilterType: 'Sql', SqlFilter: { SqlExpression: '1=1' }, Label: 'x' }),
    `${RULES}[0].Properties.Label: It is a condition of a correlation filter: move it into CorrelationFilter.`,
  ],
  'no description at all': [
    () => faultsOf(() => parseAnyConfig(null)),
    'It must be an object with queues, topics or both, not null.',
  ],
  'a filter of another type': [
    () =>
      ruleInFile({
        FilterType: 'Sql',
        SqlFilter: { SqlExpression: 'a=1' },
        CorrelationFilter: { To: 'x' },
      }),
    `${RULES}[0].Properties.CorrelationFilter: A rule has one filter, and its FilterType is "Sql": remove this one, or change the type.`,
  ],
  'no filter': [
    () => ruleInFile({ FilterType: 'Correlation' }),
    `${RULES}[0].Properties: The CorrelationFilter is missing: add it.`,
  ],
  'an unknown type of filter': [
    () => [...ruleInFile({ FilterType: 'True' }), ...ruleInFile({})],
    `${RULES}[0].Properties.FilterType: The type is "True"; it must be "Sql" or "Correlation".`,
    `${RULES}[0].Properties.FilterType: The type is missing; it must be "Sql" or "Correlation".`,
  ],
  'a rule without properties or name': [
    () => [...ruleInFile(undefined), ...rulesInShort(['a = 1'])],
    `${RULES}[0]: The Properties are missing: add them.`,
    `${OWN_RULES}[0]: It must be an object with a name, not "a = 1".`,
  ],
  'a correlation filter without conditions': [
    () => ruleInFile({ FilterType: 'Correlation', CorrelationFilter: { To: '' } }),
    `${RULES}[0].Properties.CorrelationFilter: A correlation filter needs at least one condition.`,
  ],
  'a value that no property can have': [
    () => rulesInShort({ r: { correlation: { to: 'x', properties: { a: [1] } } } }),
    `${OWN_RULES}.r.correlation.properties.a: It must be a text, a number, true, false or an instant such as {"DateTime":"2030-01-01T00:00:00Z"}, not [1].`,
  ],
  'an empty name of a property, which leaves no condition': [
    () => rulesInShort({ r: { correlation: { properties: { '': 'x' } } } }),
    `${OWN_RULES}.r.correlation.properties[""]: The name of a property or parameter is empty: name it, or remove it.`,
  ],
  'a name that no rule may have': [
    () => ruleInFile({ SqlFilter: { SqlExpression: 'a=1' } }, 'b c'),
    `${RULES}[0].Name: The name 'b c' is not valid: it can contain only letters, numbers, periods (.), hyphens (-), and underscores (_).`,
  ],
  'forwarding to an entity that is missing': [
    () => inShort({ queues: ['invoices', { name: 'a', forwardTo: 'invoces' }] }),
    "queues[1].forwardTo: There is no queue or topic 'invoces' in this configuration: write invoices instead, add it, or remove the forwarding.",
  ],
  'forwarding to a subscription': [
    () =>
      inShort({
        queues: [{ name: 'a', forwardTo: 't/subscriptions/s' }],
        topics: [{ name: 't', subscriptions: ['s'] }],
      }),
    "queues[0].forwardTo: There is no queue or topic 't/subscriptions/s' in this configuration: add it, or remove the forwarding.",
  ],
  'forwarding to itself': [
    () =>
      inShort({
        queues: { a: { forwardTo: 'A' } },
        topics: { t: { subscriptions: { s: { forwardDeadLetteredMessagesTo: 't' } } } },
      }),
    "queues.a.forwardTo: Entity cannot have auto-forwarding policy to itself. 'a' names 'A'.",
    "topics.t.subscriptions.s.forwardDeadLetteredMessagesTo: Entity cannot have auto-forwarding policy to itself. 't/Subscriptions/s' names 't'.",
  ],
  'forwarding out of sessions': [
    () => inShort({ queues: ['b', { name: 'a', requiresSession: true, forwardTo: 'b' }] }),
    "queues[1].forwardTo: The 'forwardTo' property can't be set to 'b' because the Queue requires sessions. Only a Queue forwards out of its sessions, to a Topic that is named when it is created.",
  ],
  'shared access policies': [
    () =>
      inShort({
        queues: [
          {
            name: 'a',
            authorizationRules: [{ accessRights: [] }, { keyName: 'k', accessRights: ['Read'] }],
          },
          {
            name: 'b',
            authorizationRules: [{ keyName: 'k', accessRights: ['Send'], primaryKey: 'short' }],
          },
          {
            name: 'c',
            authorizationRules: [{ keyName: 'k', accessRights: ['Send'], claimType: 'None' }],
          },
        ],
      }),
    'queues[0].authorizationRules[0]: The keyName is missing: add it.',
    'queues[0].authorizationRules[1].accessRights[0]: It must be Manage, Send or Listen, not "Read".',
    "queues[0].authorizationRules: The authorization rule 'k' gives no right.",
    "queues[1].authorizationRules: A key of the authorization rule 'k' is 5 characters long; it must be 44 ASCII characters, the Base64 of 32 bytes.",
    'queues[2].authorizationRules[0].claimType: It must be "SharedAccessKey".',
  ],
  'too many entities': [
    () =>
      inShort({ queues: Array.from({ length: CONFIG_LIMITS.entities + 1 }, (_, i) => `q${i}`) }),
    'There are 2,001 queues, topics and subscriptions; a configuration may have 2,000: create the others later.',
  ],
  'a bigint': [
    () => inShort({ queues: [{ name: 'a', maxDeliveryCount: 5n }] }),
    'queues[0].maxDeliveryCount: It must be a whole number, not 5.',
  ],
};

for (const [title, [found, ...lines]] of Object.entries(CASES)) {
  test(`a configuration is refused for ${title}`, () => {
    assert.deepEqual(found(), lines);
  });
}

test('forwarding in a circle is no fault, nor is forwarding of a queue to its own address', () => {
  const faults = inShort({
    queues: {
      a: { forwardTo: 'b' },
      b: { forwardDeadLetteredMessagesTo: 'c' },
      c: { forwardTo: 'a' },
      d: { forwardTo: 'sb://any-host/D' },
    },
  });
  assert.deepEqual(faults, []);
});

test('an error lists a bounded number of faults and counts the others', () => {
  const faults = inShort({ queues: Array.from({ length: CONFIG_LIMITS.faults + 3 }, () => 5) });
  assert.equal(faults.length, CONFIG_LIMITS.faults + 1);
  assert.equal(faults.at(-1), 'There are 3 more faults.');
});
