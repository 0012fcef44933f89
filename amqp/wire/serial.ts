/**
 * How far one sequence number is past another, negative where it is behind. They have 32 bits and
 * begin anew after the largest (RFC 1982).
 */
export function distance(from: number, to: number): number {
  return (to - from) | 0;
}
