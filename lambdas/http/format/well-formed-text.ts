import { argumentError } from '../../../shared/domain/broker-error.ts';

/** Half of a surrogate pair without the other half, which UTF-8 cannot encode. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The refusal of text with a lone surrogate, as the end of a sentence. */
export const NOT_WELL_FORMED = 'holds half of a surrogate pair, which UTF-8 cannot encode';

/** Whether a text has no lone surrogates. */
export const isWellFormed = (text: string): boolean => !LONE_SURROGATE.test(text);

/** Refuses text that UTF-8 would change. `what` begins the sentence. Throws ArgumentError. */
export function requireWellFormed(text: string, what: string): string {
  if (isWellFormed(text)) return text;
  throw argumentError(`${what} ${NOT_WELL_FORMED}.`);
}
