import { argumentError } from '../broker-error.ts';
import { formatDuration, UNLIMITED_TEXT } from '../duration.ts';

/** The kinds of entities in the spelling of the service's error sentences. */
export type KindName = 'Queue' | 'Topic' | 'Subscription';

/** Throws ArgumentError for a duration outside its bounds (ms; `Infinity` = unlimited). */
export function requireDuration(name: string, ms: number, min: number, max = Infinity): void {
  if (ms >= min && ms <= max) return;
  const bound =
    ms < min ? `below the minimum of '${durationText(min)}'` : `above '${durationText(max)}'`;
  throw argumentError(`The value '${durationText(ms)}' of the '${name}' property is ${bound}.`);
}

/** Throws ArgumentError for a number that is not an integer or is outside its bounds. */
export function requireWhole(name: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw argumentError(
    `The value '${value}' of the '${name}' property is not a whole number from ${min} to ${max}.`,
  );
}

/** Throws ArgumentError for a text of more than `max` characters. */
export function requireLength(name: string, value: string | undefined, max: number): void {
  if (value === undefined || value.length <= max) return;
  throw argumentError(
    `The value of the '${name}' property is ${value.length} characters long; the limit is ${max}.`,
  );
}

/** Throws ArgumentError for a value that is not among those allowed. */
export function requireOneOf<T>(name: string, value: T, allowed: readonly T[]): void {
  if (allowed.includes(value)) return;
  throw argumentError(
    `The value '${value}' of the '${name}' property is not one of ${allowed.join(', ')}.`,
  );
}

/** A duration (ms) as text in the form of the wire, so that an error can be compared with the request. */
export function durationText(ms: number): string {
  return ms === Infinity ? UNLIMITED_TEXT : formatDuration(ms);
}
