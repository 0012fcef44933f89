import { LIMITS } from '../../../shared/domain/limits.ts';

/**
 * A JSON Schema (2020-12). The schemas of requests and responses are written by hand, not derived from the zod schemas
 * that parse the requests: `z.toJSONSchema` would add 22 KB to the manage function, more than test/cdk/bundle.test.ts
 * still allows, and it shows nothing of sequence numbers, properties, messages and operations of transactions, which
 * other code parses. A test compares both.
 */
export type Schema = Readonly<Record<string, unknown>>;

/** A reference to a schema of the document, by name. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const text = { type: 'string' } as const;
/** An id, which has a limited length. */
export const id = { type: 'string', maxLength: LIMITS.idLength } as const;
export const boolean = { type: 'boolean' } as const;

/** An object with no other fields than these: a misspelled one is refused. */
export function strict(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A list of one to `maxItems` items. */
export function listOf(items: Schema, maxItems: number): Schema {
  return { type: 'array', items, minItems: 1, maxItems };
}

/** The end of a lock, to the second and exactly. */
export const lockEnd = {
  lockedUntilUtc: { ...text, description: 'RFC 1123, to the second.' },
  lockedUntil: { ...text, description: 'The same in ISO 8601, with milliseconds.' },
} as const;
