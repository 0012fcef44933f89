import type { OperationRecord } from '../clients/record.ts';

type Readings = Pick<OperationRecord, 'start' | 'end' | 'startClock' | 'endClock'>;

/** The earliest reading of the process's wall clock during an operation; the clock may have been set once. */
export function earliestClock({ start, end, startClock, endClock }: Readings): number {
  return Math.min(startClock, endClock - (end - start));
}

/** The latest such reading. */
export function latestClock({ start, end, startClock, endClock }: Readings): number {
  return Math.max(endClock, startClock + (end - start));
}
