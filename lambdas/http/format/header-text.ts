import { isUtf8 } from 'node:buffer';

/** Text in HTTP headers, which carry bytes: `\xNN` at best, and no control characters. */

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const BEYOND_ASCII = /[\x80-\uffff]/;
const BEYOND_LATIN1 = /[\u0100-\uffff]/;

/**
 * The text a sender meant. Servers read header bytes as Latin-1, yet people write UTF-8
 * (`curl -H 'Name: "Größe"'`); bytes that happen to be UTF-8 were practically always meant so.
 */
export function decodeHeader(value: string): string {
  if (!BEYOND_ASCII.test(value) || BEYOND_LATIN1.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}

/** Writes everything but printable ASCII as `\uXXXX`, by UTF-16 units, as JSON strings may. */
export function escapeNonAscii(text: string): string {
  return text.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether a header can carry this text as it is. */
export function fitsHeader(text: string): boolean {
  return HEADER_VALUE.test(text);
}
