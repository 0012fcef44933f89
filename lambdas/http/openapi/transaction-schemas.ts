import { LIMITS } from '../../../shared/domain/limits.ts';
import { lockEnd } from './schema-parts.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string' } as const;
const lockToken = { lockToken: { ...text, maxLength: LIMITS.idLength } };
const session = {
  sessionId: { ...text, description: 'The session id, if the entity requires sessions.' },
};
const properties = { properties: ref('Properties') };
const deadLetterText = { type: 'string', maxLength: LIMITS.deadLetterTextLength };
const entity = { type: 'string', minLength: 1, description: 'The path of an entity.' } as const;

/** Exact messages: see docs/http/exact-messages.md. */
const base64 = {
  ...text,
  contentEncoding: 'base64',
  pattern: '^(?:[\\w+/-]{4})*(?:[\\w+/-]{2}==|[\\w+/-]{3}=|[\\w+/-]{4})$',
} as const;

/** The schema of an operation. Its verb is the name of the field with the entity. */
function operation(
  verb: string,
  required: Readonly<Record<string, object>>,
  optional: object = {},
) {
  return {
    type: 'object',
    properties: { [verb]: entity, ...required, ...optional },
    required: [verb, ...Object.keys(required)],
    additionalProperties: false,
  };
}

/** The schemas of transactions; part of `SCHEMAS`. */
export const TRANSACTION_SCHEMAS = {
  Operation: {
    oneOf: [
      operation('send', { messages: ref('Batch') }),
      operation('send', { amqp: base64 }),
      operation('complete', lockToken, session),
      operation('abandon', lockToken, {
        ...session,
        ...properties,
        delaySeconds: { type: 'number', minimum: 0, maximum: 31_536_000 },
        isUncounted: { type: 'boolean' },
      }),
      operation('defer', lockToken, { ...session, ...properties }),
      operation('deadLetter', lockToken, {
        ...session,
        ...properties,
        deadLetterReason: deadLetterText,
        deadLetterErrorDescription: deadLetterText,
      }),
      operation('renew', lockToken, session),
    ],
  },
  Transaction: {
    type: 'object',
    properties: {
      id: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.idLength,
        description:
          'An id of your choice. Repeated requests with the same id run the transaction only once.',
      },
      operations: {
        type: 'array',
        items: ref('Operation'),
        minItems: 1,
        maxItems: LIMITS.settlements,
      },
    },
    required: ['operations'],
    additionalProperties: false,
  },
  TransactionOutcomes: {
    type: 'object',
    properties: {
      operations: {
        type: 'array',
        items: {
          oneOf: [
            ref('Scheduled'),
            { type: 'object', properties: { settled: { const: true } }, required: ['settled'] },
            { type: 'object', properties: lockEnd, required: Object.keys(lockEnd) },
          ],
        },
      },
    },
    required: ['operations'],
  },
} as const;
