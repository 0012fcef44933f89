import { LIMITS } from '../../../shared/domain/limits.ts';
import { CONSUMER_SCHEMAS } from './consumer-schemas.ts';
import { MANAGEMENT_SCHEMAS } from './management-schemas.ts';
import { deadLetterFields, OPERATOR_SCHEMAS, sequenceNumbers } from './operator-schemas.ts';
import { boolean, id, listOf, lockEnd, ref, type Schema, strict, text } from './schema-parts.ts';
import { TRANSACTION_SCHEMAS } from './transaction-schemas.ts';

/** A reference to a schema of the document. */
export function schemaNamed(name: keyof typeof SCHEMAS): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function settlement(outcome: string, options: Readonly<Record<string, Schema>> = {}): Schema {
  return strict({ lockToken: id, outcome: { const: outcome }, ...options }, [
    'lockToken',
    'outcome',
  ]);
}

/** The keys that a sender may set. Read-only and unknown keys are ignored; null counts as absent. */
const sentBrokerProperties = {
  MessageId: id,
  SessionId: id,
  PartitionKey: id,
  ViaPartitionKey: id,
  ReplyToSessionId: id,
  CorrelationId: text,
  Label: text,
  ReplyTo: text,
  To: text,
  ContentType: { ...text, description: 'Only in the batch format.' },
  TimeToLive: { type: 'number', exclusiveMinimum: 0, description: 'Seconds.' },
  TimeToLiveTimeSpan: { ...text, description: 'The same as d.hh:mm:ss.' },
  ScheduledEnqueueTimeUtc: { ...text, description: 'RFC 1123, or ISO 8601 with an offset.' },
  ForcePersistence: boolean,
} as const;

/** Every schema of the document, by name. */
export const SCHEMAS = {
  SequenceNumber: {
    type: 'integer',
    format: 'int64',
    minimum: 0,
    description: 'Every digit counts: read it with a parser that keeps 64-bit integers.',
  },
  Properties: {
    type: 'object',
    description:
      'Custom properties. A type that JSON lacks is an object with one key: {"$guid":"…"}, {"$long":"7"}.',
    additionalProperties: {
      anyOf: [
        { type: ['string', 'number', 'boolean', 'null'] },
        { type: 'object', minProperties: 1, maxProperties: 1, propertyNames: { pattern: '^\\$' } },
      ],
    },
  },
  BrokerProperties: { type: 'object', properties: sentBrokerProperties },
  Message: {
    type: 'object',
    properties: {
      Body: text,
      BodyEncoding: { const: 'base64', description: 'For a body that is no text.' },
      BrokerProperties: ref('BrokerProperties'),
      UserProperties: ref('Properties'),
    },
    required: ['Body'],
  },
  Batch: listOf(ref('Message'), LIMITS.batchMessages),
  ScheduledBatch: listOf(
    {
      allOf: [
        ref('Message'),
        {
          properties: { BrokerProperties: { required: ['ScheduledEnqueueTimeUtc'] } },
          required: ['BrokerProperties'],
        },
      ],
    },
    LIMITS.batchMessages,
  ),
  ReceivedMessage: {
    type: 'object',
    properties: {
      Body: text,
      BodyEncoding: {
        const: 'base64',
        description:
          'For a body that is no text, or that is shorter so and too long for an answer.',
      },
      BrokerProperties: {
        type: 'object',
        properties: {
          ...sentBrokerProperties,
          SequenceNumber: ref('SequenceNumber'),
          EnqueuedSequenceNumber: ref('SequenceNumber'),
          EnqueuedTimeUtc: text,
          ExpiresAtUtc: text,
          DeliveryCount: { type: 'integer', minimum: 0 },
          State: { enum: ['Active', 'Deferred', 'Scheduled'] },
          LockToken: { ...text, format: 'uuid' },
          LockedUntilUtc: text,
          DeadLetterSource: text,
        },
        required: ['MessageId', 'SequenceNumber', 'EnqueuedTimeUtc', 'DeliveryCount', 'State'],
      },
      UserProperties: ref('Properties'),
    },
    required: ['Body', 'BrokerProperties', 'UserProperties'],
  },
  ReceivedBatch: { type: 'array', items: ref('ReceivedMessage') },
  Settlement: {
    oneOf: [
      settlement('complete'),
      settlement('abandon', {
        properties: ref('Properties'),
        delaySeconds: { type: 'number', minimum: 0, maximum: 31_536_000 },
        isUncounted: {
          ...boolean,
          description:
            'The delivery does not count, since the receiver did not process the message.',
        },
      }),
      settlement('defer', { properties: ref('Properties') }),
      settlement('deadLetter', deadLetterFields),
    ],
  },
  Settlements: strict({ settlements: listOf(ref('Settlement'), LIMITS.settlements) }, [
    'settlements',
  ]),
  SettlementOutcomes: {
    type: 'object',
    properties: {
      settlements: {
        type: 'array',
        items: {
          type: 'object',
          properties: { lockToken: text, settled: boolean, error: ref('ShownError') },
          required: ['lockToken', 'settled'],
        },
      },
    },
    required: ['settlements'],
  },
  SettledAndReceived: {
    allOf: [
      ref('SettlementOutcomes'),
      {
        type: 'object',
        properties: { messages: ref('ReceivedBatch'), error: ref('ShownError') },
        required: ['messages'],
      },
    ],
  },
  Renewals: strict({ lockTokens: listOf(id, LIMITS.settlements) }, ['lockTokens']),
  RenewalOutcomes: {
    type: 'object',
    properties: {
      renewals: {
        type: 'array',
        items: {
          type: 'object',
          properties: { lockToken: text, ...lockEnd, error: ref('ShownError') },
          required: ['lockToken'],
        },
      },
    },
    required: ['renewals'],
  },
  SequenceNumbers: strict({ sequenceNumbers }, ['sequenceNumbers']),
  Scheduled: {
    type: 'object',
    properties: {
      sequenceNumbers: {
        type: 'array',
        items: { oneOf: [ref('SequenceNumber'), { type: 'null' }] },
      },
    },
    required: ['sequenceNumbers'],
  },
  Deferred: strict(
    {
      sequenceNumbers,
      mode: { enum: ['peekLock', 'receiveAndDelete'], default: 'peekLock' },
    },
    ['sequenceNumbers'],
  ),
  SessionLock: {
    type: 'object',
    properties: { sessionId: text, sessionLock: text, ...lockEnd },
    required: ['sessionId', 'sessionLock', ...Object.keys(lockEnd)],
  },
  EntityFacts: {
    type: 'object',
    properties: {
      kind: { enum: ['queue', 'topic', 'subscription'] },
      requiresSession: boolean,
      maxMessageSizeInKilobytes: { type: 'integer', minimum: 1 },
      partitions: { type: 'integer', minimum: 1 },
      requiresDuplicateDetection: boolean,
      filteringMessagesBeforePublishing: boolean,
      status: { enum: ['Disabled', 'SendDisabled', 'ReceiveDisabled'] },
      forwardTo: text,
      forwardDeadLetteredMessagesTo: text,
    },
    required: ['kind', 'requiresSession', 'maxMessageSizeInKilobytes'],
  },
  Sessions: {
    type: 'object',
    properties: { sessionIds: { type: 'array', items: text } },
    required: ['sessionIds'],
  },
  Outcomes: {
    type: 'object',
    properties: {
      outcomes: {
        type: 'array',
        items: {
          type: 'object',
          properties: { sequenceNumber: ref('SequenceNumber'), done: boolean },
          required: ['sequenceNumber', 'done'],
        },
      },
    },
    required: ['outcomes'],
  },
  ...OPERATOR_SCHEMAS,
  ...TRANSACTION_SCHEMAS,
  ...MANAGEMENT_SCHEMAS,
  ...CONSUMER_SCHEMAS,
  Health: {
    type: 'object',
    properties: { status: { const: 'healthy' }, message: text },
    required: ['status', 'message'],
  },
  ShownError: {
    type: 'object',
    properties: {
      code: { ...text, description: 'One of a closed list: see docs/http/errors.md.' },
      message: text,
      trackingId: { ...text, format: 'uuid' },
      retryable: boolean,
      subCode: { ...text, description: 'A finer code, if there is one, for instance 40301.' },
    },
    required: ['code', 'message', 'trackingId', 'retryable'],
  },
  Error: {
    type: 'object',
    properties: {
      error: {
        allOf: [
          ref('ShownError'),
          {
            type: 'object',
            properties: {
              timestamp: text,
              operation: { type: 'integer', minimum: 0, description: 'Of a transaction: which.' },
            },
            required: ['timestamp'],
          },
        ],
      },
    },
    required: ['error'],
  },
} as const satisfies Readonly<Record<string, Schema>>;
