import { badRequest } from './bad-request.ts';

/** Half of a surrogate pair without its other half: text that UTF-8 cannot hold. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether a text can be kept as it is. */
export const isWellFormed = (text: string): boolean => !LONE_SURROGATE.test(text);

/** Refuses text that would come back changed. `what` begins the sentence. Throws ArgumentError. */
export function requireWellFormed(text: string, what: string): string {
  if (isWellFormed(text)) return text;
  throw badRequest(`${what} holds half of a surrogate pair, which no UTF-8 text can.`);
}
