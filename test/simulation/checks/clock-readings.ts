import type { OperationRecord } from '../clients/record.ts';

type Readings = Pick<OperationRecord, 'start' | 'end' | 'startClock' | 'endClock'>;

/** The least that the wall clock of its process showed during an operation, which may have been set once. */
export function earliestClock({ start, end, startClock, endClock }: Readings): number {
  return Math.min(startClock, endClock - (end - start));
}

/** The most that it showed. */
export function latestClock({ start, end, startClock, endClock }: Readings): number {
  return Math.max(endClock, startClock + (end - start));
}
