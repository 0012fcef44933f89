/** Prime and start of the FNV hash. */
const PRIME = 0x01000193;
const START = 0x811c9dc5;

/** A 32-bit hash of a request. */
export function fingerprint(value: unknown): number {
  return mix(START, value);
}

function mix(hash: number, value: unknown): number {
  if (typeof value === 'string') return mixText(hash, value);
  if (value instanceof Uint8Array) return mixBytes(hash, value);
  if (typeof value !== 'object' || value === null) return mixText(hash, String(value));
  let mixed = Math.imul(hash ^ (Array.isArray(value) ? 1 : 2), PRIME);
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    if (inner !== undefined) mixed = mix(mixText(mixed, name), inner);
  }
  return mixed;
}

function mixText(hash: number, text: string): number {
  let mixed = Math.imul(hash ^ text.length, PRIME);
  for (let i = 0; i < text.length; i++) mixed = Math.imul(mixed ^ text.charCodeAt(i), PRIME);
  return mixed;
}

function mixBytes(hash: number, bytes: Uint8Array): number {
  let mixed = Math.imul(hash ^ bytes.length, PRIME);
  for (let i = 0; i < bytes.length; i++) mixed = Math.imul(mixed ^ (bytes[i] ?? 0), PRIME);
  return mixed;
}
