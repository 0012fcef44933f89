const NUMBER = new Intl.NumberFormat('en');
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** A number with separators: `1,234,567`. */
export function numberText(value: number): string {
  return NUMBER.format(value);
}

/** How many of something: `1 message`, `1,200 messages`. */
export function counted(count: number, one: string, many: string): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** How many there are, marked if it is an estimate: `≈1,200`. */
export function countText(count: number, isEstimate: boolean): string {
  return isEstimate && count > 0 ? `≈${numberText(count)}` : numberText(count);
}

/** Bytes with three digits: `1.25 MB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** How long ago, roughly: `5 s`, `3 min`. */
export function spanText(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
