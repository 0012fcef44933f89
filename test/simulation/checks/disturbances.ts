import type { OperationRecord } from '../clients/record.ts';
import { LATE_MS_MAX } from '../engine/network.ts';
import type { Stretch } from './copy.ts';

/** Stretches of time in which somebody may have been at work at a path, unheard. */
export class Disturbances {
  readonly #stretches = new Map<string, Stretch[]>();

  add(path: string, from: number, to: number): void {
    const stretches = this.#stretches.get(path) ?? [];
    stretches.push({ from, to });
    this.#stretches.set(path, stretches);
  }

  /** Whether there was one between two instants. */
  isAny(path: string, from: number, to: number): boolean {
    return (this.#stretches.get(path) ?? []).some((one) => one.from <= to && one.to >= from);
  }

  /** Whether there was one whose effect stays. */
  isForEver(path: string): boolean {
    return (this.#stretches.get(path) ?? []).some(({ to }) => to === Number.POSITIVE_INFINITY);
  }
}

/** Whether an entity was made anew while an operation was under way, or what it asked for might still arrive. */
export function wasRecreatedDuring(
  records: readonly OperationRecord[],
  { start, end }: OperationRecord,
  entity: string,
): boolean {
  return records.some(
    (one) =>
      one.action.kind === 'recreate' &&
      one.action.entity === entity &&
      one.start <= end + LATE_MS_MAX &&
      start <= one.end + LATE_MS_MAX,
  );
}
