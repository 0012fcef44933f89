import * as z from 'zod/mini';
import type { DeadLetterAction } from '../../../shared/broker/broker.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import { readProperties } from './property-json.ts';
import { isWellFormed, NOT_WELL_FORMED } from './well-formed-text.ts';

const deadLetterText = z
  .string()
  .check(z.maxLength(LIMITS.deadLetterTextLength), z.refine(isWellFormed, NOT_WELL_FORMED));

/** The schema of `properties`: properties to add to a message, or to replace. */
export const changedProperties = z.optional(
  z.pipe(
    z.unknown(),
    z.transform((json: unknown): Properties => readProperties(json, 'properties')),
  ),
);

/** The schemas of the fields of a dead-lettering, without those that name the message. */
export const deadLetterFields = {
  properties: changedProperties,
  deadLetterReason: z.optional(deadLetterText),
  deadLetterErrorDescription: z.optional(deadLetterText),
};

/** Converts the fields of a dead-lettering to the action. */
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
