import { listed } from '../../shared/domain/fault-words.ts';
import { UsageError } from '../startup-error.ts';
import { numberText } from './table.ts';

/** The values of options. All functions throw UsageError with a sentence that says what to write. */

const SECOND_MS = 1000;
const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: 60 * SECOND_MS,
  h: 3600 * SECOND_MS,
  d: 86_400 * SECOND_MS,
};
const SIMPLE = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const ISO = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;
const COUNT_MAX = 100_000_000;

/** A duration in ms: `90s`, `5m`, `250ms`, `PT1M30S`, `P2D`. */
export function readDuration(text: string, option: string): number {
  const ms = durationOf(text);
  if (ms !== undefined) return ms;
  throw new UsageError(
    `${option} takes a duration such as 90s, 5m, 2h, P1D or PT1M, not '${text}'.`,
  );
}

function durationOf(text: string): number | undefined {
  const [, amount, unit = ''] = SIMPLE.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (UNITS_MS[unit] ?? 0);
  const parts = ISO.exec(text);
  if (parts === null || parts.slice(1).every((part) => part === undefined)) return undefined;
  const [weeks, days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  const wholeDays = (weeks ?? 0) * 7 + (days ?? 0);
  const minutesInAll = (wholeDays * 24 + (hours ?? 0)) * 60 + (minutes ?? 0);
  return (minutesInAll * 60 + (seconds ?? 0)) * SECOND_MS;
}

/** An instant in epoch ms: `2033-11-06T08:49:37Z`, or a duration from now. */
export function readInstant(text: string, option: string, now: number): number {
  const ms = durationOf(text);
  if (ms !== undefined) return now + ms;
  const at = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new UsageError(
    `${option} takes an instant such as 2033-11-06T08:49:37Z or a duration from now such as 10m, not '${text}'.`,
  );
}

/** A whole number of 1 or more. */
export function readCount(text: string, option: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= COUNT_MAX) return count;
  throw new UsageError(
    `${option} takes a whole number from 1 to ${numberText(COUNT_MAX)}, not '${text}'.`,
  );
}

/** A sequence number. */
export function readSequenceNumber(text: string, option: string): bigint {
  if (/^\d{1,19}$/.test(text) && BigInt(text) < 2n ** 63n) return BigInt(text);
  throw new UsageError(`${option} takes a sequence number such as 42, not '${text}'.`);
}

const PROPERTY = /^(?<name>[^=]*?)(?::(?<type>[^:=]*))?=(?<value>.*)$/s;
const TYPES = ['string', 'int', 'long', 'double', 'boolean', 'date', 'guid'];

/**
 * A custom property, as JSON of its name and its value: `Priority=High`, `Quantity:int=7`. The type after the last
 * colon of the name is one of those that the batch format has; without it, the value is a string.
 */
export function readProperty(text: string): readonly [name: string, json: string] {
  const { name = '', type = 'string', value = '' } = PROPERTY.exec(text)?.groups ?? {};
  if (name === '') {
    throw new UsageError(
      `--property takes NAME=VALUE or NAME:TYPE=VALUE, for example Quantity:int=7, not '${text}'.`,
    );
  }
  if (!TYPES.includes(type)) {
    throw new UsageError(
      `The property '${name}' has the unknown type '${type}': write one of ${listed(TYPES, 'or')}. A name with a colon needs its type, for example a:b:string=text.`,
    );
  }
  const json = valueJson(type, value);
  if (json !== undefined) return [JSON.stringify(name), json];
  const article = type === 'int' ? 'an' : 'a';
  throw new UsageError(`The value '${value}' of the property '${name}' is not ${article} ${type}.`);
}

/** Several custom properties. Throws UsageError if two have the same name. */
export function readProperties(
  texts: readonly string[],
): readonly (readonly [name: string, json: string])[] {
  const properties = texts.map(readProperty);
  const names = properties.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice === undefined) return properties;
  throw new UsageError(`The property '${JSON.parse(twice)}' is given twice: keep one --property.`);
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const LONG_BITS = 64;

function valueJson(type: string, value: string): string | undefined {
  switch (type) {
    case 'int':
      return /^-?\d{1,10}$/.test(value) && (Number(value) | 0) === Number(value)
        ? String(Number(value))
        : undefined;
    case 'long':
      return isLong(value) ? JSON.stringify({ $long: value }) : undefined;
    case 'double':
      return NUMBER.test(value) && Number.isFinite(Number(value))
        ? `{"$double":${Number(value)}}`
        : undefined;
    case 'boolean':
      return /^(?:true|false)$/.test(value) ? value : undefined;
    case 'date':
      return INSTANT.test(value) && !Number.isNaN(Date.parse(value))
        ? JSON.stringify({ $date: value })
        : undefined;
    case 'guid':
      return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value)
        ? JSON.stringify({ $guid: value })
        : undefined;
    default:
      return JSON.stringify(value);
  }
}

function isLong(value: string): boolean {
  return /^-?\d{1,19}$/.test(value) && BigInt.asIntN(LONG_BITS, BigInt(value)) === BigInt(value);
}
