/**
 * Returns the bytes in a buffer at most twice their size, and copies them if theirs is larger: a few bytes
 * of a large chunk would keep the whole chunk alive. A copy gets memory of its own, because the pool of
 * `Buffer.from` is such a chunk too.
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
