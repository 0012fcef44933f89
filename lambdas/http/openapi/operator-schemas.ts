import { LIMITS } from '../../../shared/domain/limits.ts';
import { listOf, ref, type Schema, strict, text } from './schema-parts.ts';

const deadLetterText = { type: 'string', maxLength: LIMITS.deadLetterTextLength };
/** The fields of a request that dead-letters messages. */
export const deadLetterFields = {
  properties: ref('Properties'),
  deadLetterReason: deadLetterText,
  deadLetterErrorDescription: deadLetterText,
};
/** The messages that a request names. */
export const sequenceNumbers = {
  ...listOf(ref('SequenceNumber'), LIMITS.sequenceNumbers),
  uniqueItems: true,
};

const to = { ...text, minLength: 1, description: 'The queue or topic; default: the main queue.' };

/** The schemas of the operations on messages that are not received; part of `SCHEMAS`. */
export const OPERATOR_SCHEMAS = {
  DeadLetters: strict({ sequenceNumbers, ...deadLetterFields }, ['sequenceNumbers']),
  Delete: {
    oneOf: [
      ref('SequenceNumbers'),
      strict(
        {
          maxMessages: { type: 'integer', minimum: 1, maximum: 4000 },
          enqueuedBefore: { ...text, description: 'RFC 1123, or ISO 8601 with an offset.' },
        },
        ['maxMessages', 'enqueuedBefore'],
      ),
    ],
  },
  Resubmit: {
    oneOf: [
      strict({ maxMessages: { type: 'integer', minimum: 1, maximum: 1000 }, to }, []),
      strict({ sequenceNumbers, to }, ['sequenceNumbers']),
    ],
  },
  Purge: strict({}, []),
  Deleted: {
    type: 'object',
    properties: { deleted: { type: 'integer', minimum: 0 } },
    required: ['deleted'],
  },
  Resubmitted: {
    type: 'object',
    properties: { resubmitted: { type: 'integer', minimum: 0 } },
    required: ['resubmitted'],
  },
} as const satisfies Readonly<Record<string, Schema>>;
