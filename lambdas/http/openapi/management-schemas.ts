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

const duration = {
  ...text,
  description: 'ISO 8601. Unlimited ones are left out; a request may also write them.',
  pattern: '^P(?!$)(\\d+Y)?(\\d+M)?(\\d+W)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+(\\.\\d+)?S)?)?$',
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

/** The body of a PUT. Members that only answers have are ignored there, whatever they say. */
function request(kind: EntityKind): Schema {
  const ignored = Object.fromEntries(READ_ONLY[kind].map((name) => [name, {}]));
  return {
    type: 'object',
    description: 'A missing member, or null, means its default. The path must agree with the name.',
    properties: {
      kind: { const: kind },
      name: text,
      ...settings(kind),
      ...ignored,
      ...(kind === 'subscription' && {
        topicName: text,
        subscriptionName: text,
        defaultRule: { type: 'object', properties: { name: text, ...ruleMembers } },
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
      properties: { expression: { ...text, minLength: 1 }, parameters: values },
      required: ['expression'],
      additionalProperties: false,
    },
  ],
};
const condition = text;
const ruleMembers = {
  sql: { ...expression, description: '"1=1" matches every message, "1=0" none.' },
  correlation: {
    type: 'object',
    properties: {
      contentType: condition,
      correlationId: condition,
      messageId: condition,
      replyTo: condition,
      replyToSessionId: condition,
      sessionId: condition,
      subject: condition,
      to: condition,
      properties: values,
    },
    minProperties: 1,
    additionalProperties: false,
  },
  action: expression,
} as const;

const READ: Readonly<Record<string, Schema>> = {
  countsAreEstimates: { type: 'boolean' },
  accessedAt: { ...text, description: 'Absent before the first use.' },
  createdAt: text,
  modifiedAt: text,
  topicName: text,
  subscriptionName: text,
};

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
      ...READ_ONLY[kind].filter((name) => name !== 'accessedAt'),
    ],
  };
}

function pageOf(list: string, item: string): Schema {
  return {
    type: 'object',
    properties: {
      [list]: { type: 'array', items: ref(item), maxItems: LIMITS.listPage },
      next: { ...text, description: 'The URL of the next page; absent on the last one.' },
    },
    required: [list],
  };
}

/** The schemas by name. */
export const MANAGEMENT_SCHEMAS = {
  AuthorizationRule: {
    type: 'object',
    description: 'Keys that a request leaves out are generated.',
    properties: {
      keyName: { ...text, minLength: 1, maxLength: 256 },
      accessRights: { type: 'array', items: { enum: ['Manage', 'Send', 'Listen'] }, minItems: 1 },
      primaryKey: text,
      secondaryKey: text,
      claimType: { const: 'SharedAccessKey' },
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
      ref('Entities'),
      {
        type: 'object',
        properties: {
          entities: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                rules: { type: 'array', items: ref('Rule'), description: 'Of a subscription.' },
                moreRules: { ...text, description: 'The URL of all rules, if these are not all.' },
              },
            },
          },
        },
      },
    ],
  },
  RuleRequest: {
    type: 'object',
    description: 'A rule has one filter, sql or correlation; without one it matches every message.',
    properties: {
      name: text,
      ...ruleMembers,
      ...Object.fromEntries(RULE_READ_ONLY.map((name) => [name, {}])),
    },
    not: { required: ['sql', 'correlation'] },
    additionalProperties: false,
  },
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
