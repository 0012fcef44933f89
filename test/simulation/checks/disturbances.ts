import type { OperationRecord } from '../clients/record.ts';
import { LATE_MS_MAX } from '../machines/network.ts';
import type { Interval } from './copy.ts';

/** By path, the intervals in which operations without an answer may have changed messages. */
export class Disturbances {
  readonly #intervals = new Map<string, Interval[]>();

  add(path: string, from: number, to: number): void {
    const intervals = this.#intervals.get(path) ?? [];
    intervals.push({ from, to });
    this.#intervals.set(path, intervals);
  }

  /** Whether one overlaps the time between two instants. */
  isAny(path: string, from: number, to: number): boolean {
    return (this.#intervals.get(path) ?? []).some((one) => one.from <= to && one.to >= from);
  }

  /** Whether one may have removed messages for good. */
  isPermanent(path: string): boolean {
    return (this.#intervals.get(path) ?? []).some(({ to }) => to === Number.POSITIVE_INFINITY);
  }
}

/** Whether an entity was recreated during an operation, or while a late request of it might still arrive. */
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
