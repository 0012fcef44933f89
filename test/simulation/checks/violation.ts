import type { OperationRecord } from '../clients/record.ts';

/** The names of the checks. */
export type CheckName =
  | 'answer'
  | 'lost'
  | 'returned'
  | 'two locks'
  | 'settlement'
  | 'delivery count'
  | 'order'
  | 'partition'
  | 'duplicate'
  | 'transaction'
  | 'empty answer'
  | 'deadline'
  | 'session'
  | 'left over'
  | 'stuck';

/** A promise of the bus that a run violates. */
export interface Violation {
  readonly check: CheckName;
  readonly text: string;
  /** The operations that prove it. */
  readonly records: readonly OperationRecord[];
  readonly tags: readonly string[];
}

export function violation(
  check: CheckName,
  text: string,
  records: readonly OperationRecord[] = [],
  tags: readonly string[] = [],
): Violation {
  return { check, text, records, tags };
}
