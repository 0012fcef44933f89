/**
 * Returns how far `to` is ahead of `from`, negative if it is behind. Both are serial numbers of 32 bits,
 * which wrap around after the largest (RFC 1982).
 */
export function distance(from: number, to: number): number {
  return (to - from) | 0;
}
