import type { OperationRecord } from '../clients/record.ts';

/** The promises that are checked. */
export type CheckName =
  | 'answer'
  | 'lost'
  | 'returned'
  | 'two locks'
  | 'settlement'
  | 'delivery count'
  | 'order'
  | 'duplicate'
  | 'transaction'
  | 'empty answer'
  | 'deadline'
  | 'session'
  | 'left over'
  | 'stuck';

/** A promise that was not kept. */
export interface Violation {
  readonly check: CheckName;
  readonly text: string;
  /** The operations that show it. */
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
