import type { Memory, Stall } from './target.ts';

/** What no attack may bring about. */
export type FindingKind =
  /** The event loop stood still. */
  | 'stall'
  /** The process holds, or held for a moment, more than it should. */
  | 'memory'
  /** The process has ended, or answers nothing. */
  | 'end'
  /** The service called something a fault of its own. */
  | 'fault'
  /** Another client was refused, or lost a message. */
  | 'honest client'
  /** More is held at the end than there was at the beginning. */
  | 'growth';

export interface Finding {
  readonly kind: FindingKind;
  readonly detail: string;
  /** The cases under way, and how to see it again. */
  readonly cases: readonly string[];
  readonly repeat: string;
}

export function stallDetail(stalls: readonly Stall[]): string {
  const worst = stalls.reduce((one, other) => (other.stallMs > one.stallMs ? other : one));
  return `${worst.stallMs} ms, of which collections of garbage ${worst.collectionMs} ms; ${stalls.length} in all`;
}

export const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

export function memoryDetail({ heapUsed, external, rss, residentMax }: Memory): string {
  return `heap ${megabytes(heapUsed)} MB, buffers ${megabytes(external)} MB, resident ${megabytes(rss)} MB, at most ${megabytes(residentMax)} MB`;
}

/** A finding as a person reads it. */
export function printFinding({ kind, detail, cases, repeat }: Finding): string {
  const lines = cases.map((one) => `    ${one}`);
  return [`${kind}: ${detail}`, ...lines, `    repeat: ${repeat}`].join('\n');
}
