import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { readValue } from '../atom/values.ts';
import { isJsonObject } from '../format/exact-json.ts';
import { printProperty } from '../format/print-properties.ts';
import { readProperty } from '../format/property-json.ts';

/** A value of a rule's property or parameter whose JSON was not read yet. */
export class RuleValue {
  readonly #json: unknown;

  /** `json` = what `parseExactJson` parsed; `null` is a value like any other. */
  constructor(json: unknown) {
    this.#json = json;
  }

  /** Reads the value. `name` is in refusals. Throws ArgumentError. */
  read(name: string): PropertyValue {
    const json = this.#json;
    const date = isJsonObject(json) ? json['$date'] : undefined;
    const isDate = typeof date === 'string' && Object.keys(json ?? {}).length === 1;
    // The spelling of a date in a rule is kept (semantics G20).
    return isDate ? readValue('dateTime', date) : readProperty(name, json);
  }
}

/** Prints the values of a rule as JSON, in the typed form of the properties of messages (semantics H16). */
export function printRuleValues(values: Properties): string {
  const members = Object.entries(values).map(
    ([name, value]) => `${JSON.stringify(name)}:${printRuleValue(value)}`,
  );
  return `{${members.join(',')}}`;
}

function printRuleValue(value: PropertyValue): string {
  if (value.type !== 'dateTime' || value.text === undefined) return printProperty(value);
  return JSON.stringify({ $date: value.text });
}
