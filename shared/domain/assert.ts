/** Stops on a broken promise of our own. Never used for what a client may get wrong. */
export function assert(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`Broken promise: ${promise}`);
}
