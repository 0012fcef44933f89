import * as z from 'zod/mini';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseExactJson, plainNumber } from './exact-json.ts';

/**
 * Parses a JSON body and checks it against a schema. Throws ArgumentError, with a sentence for the first
 * issue.
 */
export function parseRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array,
): z.infer<Schema> {
  return checkRequest(schema, parseExactJson(body, 'The body'));
}

/** As `parseRequest`, for a body that may be empty, which counts as `{}`. Throws ArgumentError. */
export function parseOptionalRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array,
): z.infer<Schema> {
  return body.length === 0 ? checkRequest(schema, {}) : parseRequest(schema, body);
}

/**
 * Checks JSON that `parseExactJson` parsed against a schema. `at` = its place in the body, such as
 * `operations[2]`, where it is only a part of it. Throws ArgumentError.
 */
export function checkRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  json: unknown,
  at?: string,
): z.infer<Schema> {
  const parsed = z.safeParse(schema, json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw argumentError(issue ? sentenceOf(issue, at) : 'The body is not valid.');
}

/** The schema of a whole number from 1 to `max`. */
export function countUpTo(max: number) {
  return z.pipe(z.transform(plainNumber), z.int().check(z.minimum(1), z.maximum(max)));
}

/** The sentence for an issue: zod/mini has none of its own, which keeps it small. */
function sentenceOf(issue: z.core.$ZodIssue, at?: string): string {
  const path = [...(at === undefined ? [] : [at]), ...issue.path];
  const place = path.length === 0 ? 'The body' : placeOf(path);
  switch (issue.code) {
    case 'invalid_type':
      return `${place} must be ${kindOf(issue.expected)}.`;
    case 'too_small':
      return `${place} is too small or short; the least is ${issue.minimum}.`;
    case 'too_big':
      return `${place} is too large or long; the limit is ${issue.maximum}.`;
    case 'unrecognized_keys':
      return `${place} may not have '${issue.keys.join("', '").slice(0, 200)}'.`;
    case 'invalid_value':
      return `${place} must be ${issue.values.map(String).join(' or ')}.`;
    // The schema provides the end of the sentence for these.
    case 'invalid_union':
    case 'custom':
      return `${place} ${issue.message}.`;
    default:
      return `${place} is not valid.`;
  }
}

function kindOf(expected: string): string {
  if (expected === 'int') return 'a whole number';
  return `${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`;
}

/** Prints a path as `settlements[3].lockToken`. Importing zod's own function would bundle all of zod. */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
}
