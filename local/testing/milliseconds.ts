import type { Duration } from '../config/description.ts';

const UNITS_MS = {
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1000,
  milliseconds: 1,
} as const;
const ISO =
  /^P(?:(?<days>\d+)D)?(?:T(?:(?<hours>\d+)H)?(?:(?<minutes>\d+)M)?(?:(?<seconds>\d+(?:\.\d{1,3})?)S)?)?$/;

/** The length of a duration, ms. Throws RangeError if it is none, or an unknown unit is named. */
export function milliseconds(duration: Duration): number {
  const parts = typeof duration === 'string' ? ISO.exec(duration)?.groups : duration;
  if (parts === undefined || Object.keys(parts).length === 0) throw notADuration(duration);
  let ms = 0;
  for (const [unit, value] of Object.entries(parts)) {
    if (value === undefined) continue;
    const number = Number(value);
    if (!Object.hasOwn(UNITS_MS, unit) || !Number.isFinite(number)) throw notADuration(duration);
    ms += number * UNITS_MS[unit as keyof typeof UNITS_MS];
  }
  return Math.round(ms);
}

function notADuration(duration: unknown): RangeError {
  return new RangeError(
    `${JSON.stringify(duration)} is not a duration. Write { days: 14 }, { hours: 1, minutes: 30 } or 'PT90S'.`,
  );
}
