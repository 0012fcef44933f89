import { BrokerError } from '../broker-error.ts';
import { formatDuration, UNLIMITED_TEXT } from '../duration.ts';

/** The kinds as the sentences of the service spell them. */
export type KindWord = 'Queue' | 'Topic' | 'Subscription';

/** The refusal of a value, with the sub-code that all of management uses for them (semantics N14). */
export function badValue(sentence: string): BrokerError {
  return new BrokerError('ArgumentError', sentence, { subCode: '40000' });
}

/** Refuses a duration (ms; infinite = unlimited) outside its bounds. Throws ArgumentError. */
export function requireDuration(name: string, ms: number, min: number, max = Infinity): void {
  if (ms >= min && ms <= max) return;
  const bound = ms < min ? `below the minimum of '${shown(min)}'` : `above '${shown(max)}'`;
  throw badValue(`The value '${shown(ms)}' of the '${name}' property is ${bound}.`);
}

/** Refuses a number that is not whole or lies outside its bounds. Throws ArgumentError. */
export function requireWhole(name: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw badValue(
    `The value '${value}' of the '${name}' property is not a whole number from ${min} to ${max}.`,
  );
}

/** Refuses text that is too long. Throws ArgumentError. */
export function requireLength(name: string, value: string | undefined, max: number): void {
  if (value === undefined || value.length <= max) return;
  throw badValue(
    `The value of the '${name}' property is ${value.length} characters long; the limit is ${max}.`,
  );
}

/** Refuses a value that is not one of those allowed. Throws ArgumentError. */
export function requireOneOf<T>(name: string, value: T, allowed: readonly T[]): void {
  if (allowed.includes(value)) return;
  throw badValue(
    `The value '${value}' of the '${name}' property is not one of ${allowed.join(', ')}.`,
  );
}

/** A duration as the wire would show it, so that a refusal can be compared with the request. */
export function shown(ms: number): string {
  return ms === Infinity ? UNLIMITED_TEXT : formatDuration(ms);
}
