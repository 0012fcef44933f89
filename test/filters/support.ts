import type { RandomSource } from '../../shared/domain/clock.ts';
import type { Message } from '../../shared/domain/messages/message.ts';
import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';
import { evaluate } from '../../shared/filters/evaluation/evaluate.ts';
import { FilterError } from '../../shared/filters/filter-error.ts';
import { type EnqueueFacts, FilterInput } from '../../shared/filters/filter-input.ts';
import type { SqlFilter } from '../../shared/filters/rule.ts';

/** 2026-01-02T03:04:05Z, the instant at which test messages are enqueued. */
export const ENQUEUED_AT = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Counts up, so that the guids of a test differ and every run is the same. */
export function countingRandom(): RandomSource {
  let next = 0;
  return {
    bytes(count) {
      next += 1;
      return Uint8Array.from({ length: count }, (_, at) => (next * 31 + at * 17) % 256);
    },
  };
}

export function message(properties: Properties = {}, system: Partial<Message> = {}): Message {
  return { body: new Uint8Array(), messageId: 'm1', ...system, properties };
}

export function inputOf(
  properties: Properties = {},
  system: Partial<Message> = {},
  facts: Partial<EnqueueFacts> = {},
): FilterInput {
  return new FilterInput(message(properties, system), { enqueuedAt: ENQUEUED_AT, ...facts });
}

export function sql(expression: string, parameters: Properties = {}): SqlFilter {
  return { kind: 'sql', expression, parameters };
}

export type FilterResult = 'true' | 'false' | 'unknown' | 'error';

/** The result of a filter as text; errors other than FilterError are thrown. */
export function resultOf(
  expression: string,
  input: FilterInput,
  parameters: Properties = {},
): FilterResult {
  try {
    const truth = evaluate(sql(expression, parameters), input, countingRandom());
    return truth === undefined ? 'unknown' : truth ? 'true' : 'false';
  } catch (error) {
    if (error instanceof FilterError && error.typeName === 'FilterException') return 'error';
    throw error;
  }
}

export const string = (value: string): PropertyValue => ({ type: 'string', value });
export const int = (value: number): PropertyValue => ({ type: 'int', value });
export const long = (value: bigint): PropertyValue => ({ type: 'long', value });
export const double = (value: number): PropertyValue => ({ type: 'double', value });
export const boolean = (value: boolean): PropertyValue => ({ type: 'boolean', value });
export const guid = (value: string): PropertyValue => ({ type: 'guid', value });
export const dateTime = (value: number): PropertyValue => ({ type: 'dateTime', value });
export const spanOfMs = (ms: number): PropertyValue => ({
  type: 'timeSpan',
  value: BigInt(ms) * 10_000n,
});
export const NULL: PropertyValue = { type: 'null' };

/** The properties of a message, and expressions with their expected results. */
export interface Group {
  readonly feature: string;
  readonly input: FilterInput;
  readonly parameters?: Properties;
  readonly rows: readonly (readonly [expression: string, result: FilterResult])[];
}
