import { argumentError } from './broker-error.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './units.ts';

/**
 * Durations on the wire. In the code a duration is a number of ms, and `undefined` means unlimited, which the wire
 * writes as the largest .NET TimeSpan (semantics #58).
 */

export const UNLIMITED_TEXT = 'P10675199DT2H48M5.4775807S';
/** The largest TimeSpan has 2^63 - 1 ticks of 100 ns; this is the same in ms, rounded down. */
const UNLIMITED_MS = 922_337_203_685_477;

const ISO_DURATION =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
const TIME_SPAN = /^(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,7}))?$/;

/**
 * Reads an ISO 8601 duration as ms; `undefined` = unlimited. A year has 365 days and a month 30, as in .NET.
 * `name` is the field that the error names. Throws ArgumentError.
 */
export function parseDuration(text: string, name: string): number | undefined {
  const match = ISO_DURATION.exec(text.trim());
  if (match === null || text.trim().length < 3 || text.trim().endsWith('T')) {
    throw argumentError(`The value '${text.slice(0, 64)}' of ${name} is not an ISO 8601 duration.`);
  }
  const [years, months, weeks, days, hours, minutes, seconds] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  const wholeDays = (years ?? 0) * 365 + (months ?? 0) * 30 + (weeks ?? 0) * 7 + (days ?? 0);
  return unlimitedAbove(
    wholeDays * DAY_MS +
      (hours ?? 0) * HOUR_MS +
      (minutes ?? 0) * MINUTE_MS +
      Math.round((seconds ?? 0) * SECOND_MS),
  );
}

const TICKS_PER_SECOND = 10_000_000n;
/** Digits of a number beyond the range of a TimeSpan in any unit; converting them would only cost time. */
const LONG_DIGITS = /\d{20}/;

/**
 * Reads an ISO 8601 duration, with a `-` in front if it is negative, as exact ticks of 100 ns, to which it is rounded.
 * Undefined for another text, and for a duration beyond the range of a TimeSpan.
 */
export function parseTicks(text: string): bigint | undefined {
  const length = text.replace(/^-/, '');
  const match = ISO_DURATION.exec(length);
  if (match === null || length.length < 3 || length.endsWith('T')) return undefined;
  const [seconds = '0', fraction = ''] = (match[7] ?? '0').split('.');
  const wholes = [...match.slice(1, 7), seconds].map((part) => part ?? '0');
  if (wholes.some((part) => LONG_DIGITS.test(part))) return undefined;
  const [years = 0n, months = 0n, weeks = 0n, days = 0n, hours = 0n, minutes = 0n, rest = 0n] =
    wholes.map(BigInt);
  const allDays = years * 365n + months * 30n + weeks * 7n + days;
  const allSeconds = ((allDays * 24n + hours) * 60n + minutes) * 60n + rest;
  const ticks = allSeconds * TICKS_PER_SECOND + ticksOfFraction(fraction);
  const value = text.startsWith('-') ? -ticks : ticks;
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** The ticks of a fraction of a second, of which the digits are given. */
function ticksOfFraction(digits: string): bigint {
  const ticks = BigInt(digits.slice(0, 7).padEnd(7, '0'));
  return /^[5-9]/.test(digits.slice(7)) ? ticks + 1n : ticks;
}

/** Writes ms as an ISO 8601 duration in the service's form: days, hours, minutes, seconds. */
export function formatDuration(ms: number | undefined): string {
  if (ms === undefined) return UNLIMITED_TEXT;
  const days = Math.floor(ms / DAY_MS);
  const hours = Math.floor((ms % DAY_MS) / HOUR_MS);
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  const seconds = (ms % MINUTE_MS) / SECOND_MS;
  const date = days > 0 ? `${days}D` : '';
  const time = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${seconds > 0 ? `${seconds}S` : ''}`;
  if (date === '' && time === '') return 'PT0S';
  return `P${date}${time === '' ? '' : `T${time}`}`;
}

/**
 * Reads `d.hh:mm:ss[.fffffff]`, the form of `TimeToLiveTimeSpan`; `undefined` if the text has another form.
 */
export function parseTimeSpan(text: string): { readonly ms: number | undefined } | undefined {
  const match = TIME_SPAN.exec(text.trim());
  if (match === null) return undefined;
  const [, days, hours, minutes, seconds, fraction] = match;
  const ms =
    Number(days ?? 0) * DAY_MS +
    Number(hours) * HOUR_MS +
    Number(minutes) * MINUTE_MS +
    Number(seconds) * SECOND_MS +
    Math.floor(Number(`0.${fraction ?? 0}`) * SECOND_MS);
  return { ms: unlimitedAbove(ms) };
}

/** The same number of ms, or `undefined` (unlimited) if it reaches the largest TimeSpan. */
export function unlimitedAbove(ms: number): number | undefined {
  return ms >= UNLIMITED_MS ? undefined : ms;
}
