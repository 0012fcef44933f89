import {
  type EntityKind,
  SETTINGS,
  type SettingForm,
} from '../../../shared/config/setting-table.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { READ_ONLY } from '../json/read-entity.ts';
import { RULE_READ_ONLY } from '../json/read-rule.ts';
import { ref, type Schema, text } from './schema-parts.ts';

/** The schemas of management in JSON. Those of requests have the range of each setting, as a creation checks it. */

const count = { type: 'integer', minimum: 0 } as const;

/** A member of a request that may be null, which counts as absent. */
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });
const allOrNull = (schemas: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, orNull(schema)]));

/** A duration of an answer. */
export const duration = {
  ...text,
  description: 'ISO 8601. Unlimited ones are left out; a request may also write them.',
  pattern: '^P(?!$)(\\d+Y)?(\\d+M)?(\\d+W)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+(\\.\\d+)?S)?)?$',
};
/** The other form of a duration in a request. */
export const durationParts = {
  type: 'object',
  properties: Object.fromEntries(
    ['days', 'hours', 'minutes', 'seconds', 'milliseconds'].map((name) => [
      name,
      { type: 'number', minimum: 0 },
    ]),
  ),
  minProperties: 1,
  additionalProperties: false,
};
const FORMS: Readonly<Record<SettingForm, Schema>> = {
  duration,
  unlimitedDuration: duration,
  boolean: { type: 'boolean' },
  wholeNumber: count,
  text,
  destination: { ...text, description: 'A queue or topic, by its path or its address.' },
  policies: { type: 'array', items: ref('AuthorizationRule'), maxItems: 12 },
};
/** The settings of which a schema can say more than their form. */
const RANGES: Readonly<Record<string, Schema>> = {
  maxDeliveryCount: { type: 'integer', minimum: 1, maximum: LIMITS.maxDeliveryCountMax },
  maxMessageSizeInKilobytes: { type: 'integer', minimum: 1, maximum: LIMITS.messageKilobytesMax },
  maxSizeInMegabytes: {
    enum: [
      1024, 2048, 3072, 4096, 5120, 10_240, 16_384, 20_480, 32_768, 40_960, 49_152, 65_536, 81_920,
    ],
  },
  userMetadata: { ...text, maxLength: LIMITS.userMetadataLength },
};

const STATUSES: Readonly<Record<EntityKind, readonly string[]>> = {
  queue: ['Active', 'Disabled', 'SendDisabled', 'ReceiveDisabled'],
  topic: ['Active', 'Disabled', 'SendDisabled'],
  subscription: ['Active', 'Disabled', 'ReceiveDisabled'],
};

function settings(kind: EntityKind): Readonly<Record<string, Schema>> {
  const members = Object.entries(SETTINGS[kind]).map(([name, { form }]) => [
    name,
    RANGES[name] ?? FORMS[form],
  ]);
  return { ...Object.fromEntries(members), status: { enum: STATUSES[kind] } };
}

/** The settings of a request, each of which may be null. */
function requestSettings(kind: EntityKind): Readonly<Record<string, Schema>> {
  const members = Object.entries(settings(kind)).map(([name, schema]) => [
    name,
    orNull(schema === duration ? { anyOf: [duration, durationParts] } : schema),
  ]);
  return Object.fromEntries(members);
}

/** The body of a PUT. Members that only answers have are ignored there, whatever they say. */
function request(kind: EntityKind): Schema {
  const ignored = Object.fromEntries(READ_ONLY[kind].map((name) => [name, {}]));
  return {
    type: 'object',
    description:
      'A missing setting, or null, means its default. The path must agree with the names.',
    properties: {
      kind: kind === 'subscription' ? orNull({ const: kind }) : { const: kind },
      name: orNull(text),
      ...requestSettings(kind),
      ...ignored,
      ...(kind === 'subscription' && {
        topicName: orNull(text),
        subscriptionName: orNull(text),
        defaultRule: orNull(ruleRequest(ruleName, 'The first rule; an update only checks it.')),
      }),
    },
    required: kind === 'subscription' ? [] : ['kind'],
    additionalProperties: false,
  };
}

const values = ref('Properties');
const expression = {
  anyOf: [
    { ...text, minLength: 1 },
    {
      type: 'object',
      properties: {
        expression: { ...text, minLength: 1 },
        parameters: orNull({ ...values, propertyNames: { minLength: 1 } }),
      },
      required: ['expression'],
      additionalProperties: false,
    },
  ],
};
const sql = { ...expression, description: '"1=1" matches every message, "1=0" none.' };

/** The conditions of a correlation filter, apart from properties. */
const CONDITIONS = [
  'contentType',
  'correlationId',
  'messageId',
  'replyTo',
  'replyToSessionId',
  'sessionId',
  'subject',
  'to',
];
const correlation = {
  type: 'object',
  description: 'At least one condition; an empty text is none.',
  properties: {
    ...allOrNull(Object.fromEntries(CONDITIONS.map((name) => [name, text]))),
    properties: orNull({ ...values, propertyNames: { minLength: 1 } }),
  },
  anyOf: [
    ...CONDITIONS.map((name) => ({
      properties: { [name]: { ...text, minLength: 1 } },
      required: [name],
    })),
    {
      properties: { properties: { type: 'object', minProperties: 1 } },
      required: ['properties'],
    },
  ],
  additionalProperties: false,
};
const ruleMembers = { sql, correlation, action: expression } as const;

/** The names that a new rule may have. */
const ruleName = {
  ...text,
  pattern: '^(?!\\.\\.?$)(?:[\\w.-]{1,50}|\\$[Dd][Ee][Ff][Aa][Uu][Ll][Tt])$',
};

function ruleRequest(name: Schema, description: string): Schema {
  return {
    type: 'object',
    description: `A rule has one filter, sql or correlation; without one it matches every message. ${description}`,
    properties: {
      name: orNull(name),
      ...allOrNull(ruleMembers),
      ...Object.fromEntries(RULE_READ_ONLY.map((one) => [one, {}])),
    },
    not: {
      properties: { sql: { not: { type: 'null' } }, correlation: { not: { type: 'null' } } },
      required: ['sql', 'correlation'],
    },
    additionalProperties: false,
  };
}

const FILTER_COUNT = { ...count, description: 'Absent before the version 2024-05.' };
const READ: Readonly<Record<string, Schema>> = {
  countsAreEstimates: { type: 'boolean' },
  accessedAt: { ...text, description: 'Absent before the first use.' },
  createdAt: text,
  modifiedAt: text,
  sqlFilterCount: FILTER_COUNT,
  correlationFilterCount: FILTER_COUNT,
  topicName: text,
  subscriptionName: text,
};

/** What an answer may lack of what only answers have. */
const SOMETIMES_READ = ['accessedAt', 'sqlFilterCount', 'correlationFilterCount'];

function answer(kind: EntityKind): Schema {
  const readOnly = READ_ONLY[kind].map((name) => [name, READ[name] ?? count]);
  return {
    type: 'object',
    properties: {
      kind: { const: kind },
      name: text,
      ...settings(kind),
      ...Object.fromEntries(readOnly),
    },
    required: [
      'kind',
      'name',
      'status',
      ...READ_ONLY[kind].filter((name) => !SOMETIMES_READ.includes(name)),
    ],
  };
}

function pageOf(list: string, item: string, maxItems: number = LIMITS.listPage): Schema {
  return {
    type: 'object',
    properties: {
      [list]: { type: 'array', items: ref(item), maxItems },
      next: { ...text, description: 'The URL of the next page; absent on the last one.' },
    },
    required: [list],
  };
}

/** The Base64 of 32 bytes. */
const key = { ...text, pattern: '^[!-~]{44}$' };

/** The schemas by name. */
export const MANAGEMENT_SCHEMAS = {
  AuthorizationRule: {
    type: 'object',
    description: 'Keys that a request leaves out are generated.',
    properties: {
      keyName: { ...text, minLength: 1, maxLength: 256 },
      accessRights: { type: 'array', items: { enum: ['Manage', 'Send', 'Listen'] }, minItems: 1 },
      primaryKey: orNull(key),
      secondaryKey: orNull(key),
      claimType: orNull({ const: 'SharedAccessKey' }),
    },
    required: ['keyName', 'accessRights'],
    additionalProperties: false,
  },
  QueueRequest: request('queue'),
  TopicRequest: request('topic'),
  SubscriptionRequest: request('subscription'),
  EntityRequest: {
    anyOf: ['QueueRequest', 'TopicRequest', 'SubscriptionRequest'].map(ref),
    description: 'The kind is that of the path for a subscription, and required otherwise.',
  },
  Queue: answer('queue'),
  Topic: answer('topic'),
  Subscription: answer('subscription'),
  Entity: { oneOf: ['Queue', 'Topic', 'Subscription'].map(ref) },
  Entities: pageOf('entities', 'Entity'),
  Everything: {
    allOf: [
      pageOf('entities', 'Entity', LIMITS.everythingPage),
      {
        type: 'object',
        properties: {
          entities: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                rules: { type: 'array', items: ref('Rule'), description: 'Of a subscription.' },
                consumers: {
                  type: 'array',
                  items: {
                    allOf: [
                      ref('Consumer'),
                      {
                        type: 'object',
                        properties: {
                          subQueue: { enum: ['main', 'deadLetter', 'transferDeadLetter'] },
                        },
                        required: ['subQueue'],
                      },
                    ],
                  },
                  description: 'Of all queues of the entity; absent where it has none.',
                },
                moreRules: { ...text, description: 'The URL of all rules, if these are not all.' },
              },
            },
          },
        },
      },
    ],
  },
  RuleRequest: ruleRequest(text, 'The path must agree with the name.'),
  Rule: {
    type: 'object',
    properties: { name: text, ...ruleMembers, createdAt: text, modifiedAt: text },
    required: ['name', 'createdAt', 'modifiedAt'],
  },
  Rules: pageOf('rules', 'Rule'),
  Namespace: {
    type: 'object',
    properties: { name: text, messagingSku: { enum: ['Basic', 'Standard', 'Premium'] } },
    required: ['name', 'messagingSku'],
  },
} as const satisfies Readonly<Record<string, Schema>>;
