import { notSimulated } from './failures.ts';

/** The values of ReturnConsumedCapacity that storage uses. */
const CONSUMED = ['TOTAL', 'NONE'] as const;

/** Throws an Error if a request has a field that the simulation does not support. */
export function requireKnown(input: object, known: ReadonlySet<string>): void {
  for (const field in input) {
    if (known.has(field)) continue;
    if ((input as Record<string, unknown>)[field] !== undefined) {
      throw notSimulated(`the field ${field}`);
    }
  }
}

/** Whether a request asks for its consumed capacity. */
export function asksForUnits(input: { ReturnConsumedCapacity?: string | undefined }): boolean {
  const asked = input.ReturnConsumedCapacity ?? 'NONE';
  if (!CONSUMED.some((known) => known === asked)) {
    throw notSimulated(`ReturnConsumedCapacity ${asked}`);
  }
  return asked === 'TOTAL';
}

/** The consumed capacity of one table, as in an answer. */
export function consumed(table: string, units: number) {
  return { TableName: table, CapacityUnits: units };
}
