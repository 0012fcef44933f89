import { notSimulated } from './failures.ts';

/** What every request may say of itself, and what that may be. */
const CONSUMED = ['TOTAL', 'NONE'] as const;

/** Throws where a request bears a field that the simulation does not know. */
export function requireKnown(input: object, known: ReadonlySet<string>): void {
  for (const field in input) {
    if (known.has(field)) continue;
    if ((input as Record<string, unknown>)[field] !== undefined) {
      throw notSimulated(`the field ${field}`);
    }
  }
}

/** Whether a request asks what it cost. */
export function asksForUnits(input: { ReturnConsumedCapacity?: string | undefined }): boolean {
  const asked = input.ReturnConsumedCapacity ?? 'NONE';
  if (!CONSUMED.some((known) => known === asked)) {
    throw notSimulated(`ReturnConsumedCapacity ${asked}`);
  }
  return asked === 'TOTAL';
}

/** What one table's part of a request cost, as an answer says it. */
export function consumed(table: string, units: number) {
  return { TableName: table, CapacityUnits: units };
}
