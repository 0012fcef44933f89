import { isUtf8 } from 'node:buffer';

/** The text that an HTTP header can carry: Latin-1 without control characters. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const BEYOND_ASCII = /[\x80-\uffff]/;
const BEYOND_LATIN1 = /[\u0100-\uffff]/;

/**
 * Decodes a header value. Servers read header bytes as Latin-1, but many clients send UTF-8
 * (`curl -H 'Name: "Größe"'`), so bytes that are valid UTF-8 are decoded as UTF-8.
 */
export function decodeHeader(value: string): string {
  if (!BEYOND_ASCII.test(value) || BEYOND_LATIN1.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}

/** Escapes all but printable ASCII as `\uXXXX`, one per UTF-16 code unit, as JSON allows. */
export function escapeNonAscii(text: string): string {
  return text.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether a header can carry a text unchanged. */
export function fitsHeader(text: string): boolean {
  return HEADER_VALUE.test(text);
}
