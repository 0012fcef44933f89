import { fieldOf } from '../../../client/client-errors.ts';
import { isExactNumber, parseExactJson } from '../../../lambdas/http/format/exact-json.ts';

/** Reads `{"sequenceNumbers":[…]}` with all digits; undefined for a message without a number. */
export function readNumbers(text: string): readonly (bigint | undefined)[] {
  return toNumbers(fieldOf(parseExactJson(text, 'The answer'), 'sequenceNumbers'));
}

/** The sequence numbers in JSON that `parseExactJson` parsed. */
export function toNumbers(json: unknown): readonly (bigint | undefined)[] {
  if (!Array.isArray(json)) throw new Error('An answer has no sequence numbers.');
  return json.map((number: unknown) => {
    if (isExactNumber(number)) return BigInt(number.$number);
    return typeof number === 'number' ? BigInt(number) : undefined;
  });
}
