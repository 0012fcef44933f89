/** Whether two lock tags, tokens or marks are equal; an absent one equals none. */
export function isSameBytes(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a?.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);
}
