import * as z from 'zod/mini';
import type { DeadLetterAction } from '../../../shared/broker/broker.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import { readProperties } from './property-json.ts';
import { isWellFormed } from './well-formed-text.ts';

/** What a request may say of a message it changes or dead-letters, by its wire names. */

const deadLetterText = z
  .string()
  .check(
    z.maxLength(LIMITS.deadLetterTextLength),
    z.refine(isWellFormed, 'holds half of a surrogate pair, which no UTF-8 text can'),
  );

/** Properties to add to a message, or to set anew. */
export const changedProperties = z.optional(
  z.pipe(
    z.unknown(),
    z.transform((json: unknown): Properties => readProperties(json, 'properties')),
  ),
);

/** The fields beside what names the message. */
export const deadLetterFields = {
  properties: changedProperties,
  deadLetterReason: z.optional(deadLetterText),
  deadLetterErrorDescription: z.optional(deadLetterText),
};

/** What the fields of a dead-lettering ask for. */
export function deadLetterAction({
  properties,
  deadLetterReason,
  deadLetterErrorDescription,
}: {
  readonly properties?: Properties | undefined;
  readonly deadLetterReason?: string | undefined;
  readonly deadLetterErrorDescription?: string | undefined;
}): DeadLetterAction {
  return {
    kind: 'deadLetter',
    ...(properties === undefined ? {} : { properties }),
    ...(deadLetterReason === undefined ? {} : { reason: deadLetterReason }),
    ...(deadLetterErrorDescription === undefined
      ? {}
      : { description: deadLetterErrorDescription }),
  };
}
