/**
 * Bytes in memory that is at most twice as large as they are: few bytes of a large chunk would keep all
 * of it alive. Copies have memory of their own, since the pool of `Buffer.from` is such a chunk too.
 */
export function compact(bytes: Uint8Array): Buffer {
  if (bytes.byteLength < bytes.buffer.byteLength / 2) return copyOf(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function copyOf(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  copy.set(bytes);
  return copy;
}
