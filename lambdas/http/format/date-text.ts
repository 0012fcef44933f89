const RFC_1123 = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

const TICKS_PER_MS = 10_000n;
const TICKS_PER_SECOND = 10_000_000n;
/** Ticks (100 ns) from 0001-01-01, where .NET counts from, to 1970-01-01. */
const TICKS_AT_EPOCH = 621_355_968_000_000_000n;

/** Prints epoch ms as `Wed, 02 Jul 2014 01:32:27 GMT`, to the second as on the wire (semantics H13). */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/** Parses exactly the form that `httpDate` prints, into epoch ms; `undefined` for anything else. */
export function parseHttpDate(text: string): number | undefined {
  if (!RFC_1123.test(text)) return undefined;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && httpDate(ms) === text ? ms : undefined;
}

/** Prints epoch ms as `2014-07-02T01:32:27.123Z`. */
export function isoDate(ms: number): string {
  return new Date(ms).toISOString();
}

/** The end of a lock in answers, `lockedUntil` in epoch ms: to the second, and exactly. */
export function lockEnds(lockedUntil: number) {
  return { lockedUntilUtc: httpDate(lockedUntil), lockedUntil: isoDate(lockedUntil) };
}

/** Parses ISO 8601 with an offset, into epoch ms; `undefined` for anything else. */
export function parseIsoDate(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || !isDay(text.slice(0, 10)) ? undefined : ms;
}

/** Whether a day exists: `Date.parse` takes the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  return new Date(text).toISOString().startsWith(text);
}

/** Parses a date of either form, into epoch ms; `undefined` for anything else. */
export function parseDate(text: string): number | undefined {
  return parseHttpDate(text) ?? parseIsoDate(text);
}

/**
 * Prints ticks since 0001-01-01 as `2014-07-02T01:32:27.1234567Z`; as a number outside the years 1 to 9999.
 */
export function ticksAsDate(ticks: bigint): string {
  const ms = Number((ticks - TICKS_AT_EPOCH) / TICKS_PER_MS);
  const year = new Date(ms).getUTCFullYear();
  if (!(year >= 1 && year <= 9999) || ticks < 0n) return String(ticks);
  const second = Number((ticks - (ticks % TICKS_PER_SECOND) - TICKS_AT_EPOCH) / TICKS_PER_MS);
  return `${new Date(second).toISOString().slice(0, 19)}.${fraction(ticks)}Z`;
}

/** Prints ticks as a .NET TimeSpan, `[-][d.]hh:mm:ss[.fffffff]`. */
export function ticksAsTimeSpan(ticks: bigint): string {
  const length = ticks < 0n ? -ticks : ticks;
  const seconds = length / TICKS_PER_SECOND;
  const days = seconds / 86_400n;
  const clock = [(seconds / 3600n) % 24n, (seconds / 60n) % 60n, seconds % 60n]
    .map((unit) => String(unit).padStart(2, '0'))
    .join(':');
  const tail = length % TICKS_PER_SECOND === 0n ? '' : `.${fraction(length)}`;
  return `${ticks < 0n ? '-' : ''}${days > 0n ? `${days}.` : ''}${clock}${tail}`;
}

const fraction = (ticks: bigint): string => String(ticks % TICKS_PER_SECOND).padStart(7, '0');
