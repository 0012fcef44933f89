import { Token } from 'aws-cdk-lib';
import * as z from 'zod';
import { listed } from '../shared/domain/fault-words.ts';

/**
 * The types of setting values. The error of each schema says in words what is allowed, so that one sentence fits every
 * fault: a wrong type, range or spelling.
 */

/** A whole number within bounds; without `most` there is no upper bound. */
export function whole(least: number, most?: number) {
  const error =
    most === undefined
      ? `a whole number of at least ${least}`
      : `a whole number from ${least} to ${most.toLocaleString('en-US')}`;
  const schema = z.int(error).min(least, error);
  return most === undefined ? schema : schema.max(most, error);
}

/** A boolean. */
export function flag() {
  return z.boolean('true or false, without quotes');
}

/** One of a few words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, listed(words, 'or'));
}

/** A text of a certain form; `words` describe it. */
export function text(pattern: RegExp, words: string) {
  return z.string(words).regex(pattern, words);
}

/** A text of a certain form that names another resource, or a token, which deployment replaces. */
export function reference(pattern: RegExp, words: string) {
  return z
    .string(words)
    .refine((value) => Token.isUnresolved(value) || pattern.test(value), { error: words });
}

/** A group of settings; unknown names are refused. */
export function section<Shape extends z.core.$ZodShape>(shape: Shape) {
  return z.strictObject(shape, `an object that may have ${listed(Object.keys(shape), 'and')}`);
}

/** A switch that may have settings: true, false, or a group of settings, which switches it on. */
export function switchWith<Shape extends z.core.$ZodShape>(shape: Shape) {
  const words = `true, false, or an object that may have ${listed(Object.keys(shape), 'and')}`;
  return z.union([z.boolean(words), section(shape)], words);
}

/** A rate: how many a second on average, and how many at once. */
export function rate({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
  return section({
    rate: whole(1).default(perSecond),
    burst: whole(1).default(burst),
  }).prefault({});
}
