/**
 * Checks what JSON would lose of a description without a word. The server checks all else. Returns the description.
 * Throws TypeError.
 */
export function checkedDescription(description: unknown): unknown {
  if (typeof description !== 'object' || description === null) {
    throw new TypeError("The description must be an object such as { queues: ['orders'] }.");
  }
  for (const [name, value] of Object.entries(description)) {
    if (typeof value === 'object' && value !== null && !isPlain(value)) {
      throw new TypeError(
        `${name} must be an array or a plain object, not a Map, a Set or the like.`,
      );
    }
  }
  try {
    JSON.stringify(description);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`The description cannot be written as JSON: ${reason}`, { cause });
  }
  return description;
}

/** An object with an iterator that is no array holds entries that JSON does not see. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || !(Symbol.iterator in value);
}
