import * as z from 'zod/mini';
import { badRequest } from './bad-request.ts';
import { parseExactJson, plainNumber } from './exact-json.ts';

/** Requests in JSON: what they must be is a schema, and what they are not becomes one sentence. */

/** Reads a body of JSON. Throws ArgumentError. */
export function parseRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array,
): z.infer<Schema> {
  return checkRequest(schema, parseExactJson(body, 'The body'));
}

/** Reads a body that may be missing, which is as good as `{}`. Throws ArgumentError. */
export function parseOptionalRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array,
): z.infer<Schema> {
  return body.length === 0 ? checkRequest(schema, {}) : parseRequest(schema, body);
}

/**
 * Holds JSON, as parsed by `parseExactJson`, against a schema. `at` is its place in the body, where it
 * is not all of it. Throws ArgumentError.
 */
export function checkRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  json: unknown,
  at?: string,
): z.infer<Schema> {
  const parsed = z.safeParse(schema, json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRequest(issue ? sentenceOf(issue, at) : 'The body is not valid.');
}

/** A whole number from 1 on. */
export function countUpTo(max: number) {
  return z.pipe(z.transform(plainNumber), z.int().check(z.minimum(1), z.maximum(max)));
}

/** zod/mini carries no sentences of its own, which is what makes it small. */
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
    // These come with the end of a sentence from the schema.
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

/** `settlements[3].lockToken`. Not zod's own, whose import brings all of zod with it. */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
}
