/**
 * Throws a plain Error if an invariant of our own code does not hold. Input of clients is never checked with
 * it.
 */
export function assert(holds: boolean, invariant: string): asserts holds {
  if (!holds) throw new Error(`Invariant violated: ${invariant}`);
}
