import { doubleText, numberProperty } from '../../../shared/domain/messages/number-text.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { base64 } from '../message-formats/base64.ts';
import { httpDate, parseHttpDate, ticksAsDate, ticksAsTimeSpan } from './date-text.ts';
import { decodeHeader, escapeNonAscii } from './header-text.ts';
import { requireWellFormed } from './well-formed-text.ts';

/**
 * Headers that belong to HTTP, to proxies between client and service, or to the service itself. A property
 * with such a name cannot be a header. `Priority` is a standard header (RFC 9218), but the vendor's
 * documentation uses it as its example of a property, so it is not in this list.
 */
const STANDARD_HEADERS: ReadonlySet<string> = new Set([
  ...['allow', 'alt-svc', 'authorization', 'baggage', 'brokerproperties', 'cache-control'],
  ...['cdn-loop', 'connection', 'cookie', 'date', 'dnt', 'etag', 'expect', 'forwarded', 'host'],
  ...['idempotency-key', 'keep-alive', 'last-modified', 'location', 'max-forwards', 'origin'],
  ...['pragma', 'range'],
  ...['referer', 'retry-after', 'server', 'servicebusauthorization', 'set-cookie'],
  ...['servicebusdlqsupplementaryauthorization', 'servicebussupplementaryauthorization'],
  ...['strict-transport-security', 'te', 'traceparent', 'tracestate', 'trailer'],
  ...['transfer-encoding', 'true-client-ip', 'upgrade', 'upgrade-insecure-requests'],
  ...['user-agent', 'vary', 'via', 'www-authenticate', 'x-real-ip', 'x-request-id'],
]);

/** Prefixes of further such headers, whose number grows: `accept-encoding`, `cf-ray`, `sec-fetch-mode` … */
const STANDARD_FAMILY =
  /^(?:accept|access-control|cf|cloudfront|content|fastly|fly|if|proxy|sec|x-amz|x-amzn|x-arr|x-azure|x-dynabus|x-envoy|x-forwarded|x-ms|x-vercel)(?:-|$)/;

/**
 * Headers that instruct a browser or a proxy: `Refresh` opens another page, `Clear-Site-Data` deletes a
 * site's data, `Status` becomes the status behind CGI, `X-Accel-Redirect` makes nginx send another file. A
 * request may carry them as properties. A response never does, since the sender of a message must not
 * control the response that another client gets: it has them in `BrokerProperties`.
 */
const ACTING_HEADERS: ReadonlySet<string> = new Set([
  // Not an instruction, but servers keep headers in plain objects, where this name gets lost.
  '__proto__',
  ...['activate-storage-access', 'age', 'alt-used', 'authentication-info', 'clear-site-data'],
  ...['critical-ch', 'delegate-ch', 'early-data', 'edge-control', 'expect-ct', 'expires'],
  ...['feature-policy', 'integrity-policy', 'integrity-policy-report-only', 'lambda-runtime'],
  ...['large-allocation', 'link', 'memento-datetime', 'mime-version', 'nel', 'no-vary-search'],
  ...['observe-browsing-topics', 'optional-www-authenticate', 'origin-agent-cluster'],
  ...['origin-trial', 'p3p', 'persistent-auth', 'ping-from', 'ping-to', 'referrer-policy'],
  ...['refresh', 'report-to', 'reporting-endpoints', 'require-document-policy', 'save-data'],
  ...['server-timing', 'service-worker-allowed', 'set-cookie2', 'set-login', 'sourcemap'],
  ...['speculation-rules', 'status', 'supports-loading-mode', 'surrogate-capability'],
  ...[
    'surrogate-control',
    'surrogate-key',
    'timing-allow-origin',
    'tk',
    'uri',
    'use-as-dictionary',
  ],
  ...['warning', 'window-target', 'x-content-type-options', 'x-dns-prefetch-control'],
  ...['x-download-options', 'x-frame-options', 'x-lighttpd-send-file', 'x-lighttpd-send-tempfile'],
  ...['x-permitted-cross-domain-policies', 'x-robots-tag', 'x-send-file', 'x-sendfile'],
  ...['x-sendfile2', 'x-sendfile-temporary', 'x-sourcemap', 'x-ua-compatible', 'x-xss-protection'],
]);

/** Prefixes of further such headers. */
const ACTING_FAMILY =
  /^(?:attribution-reporting|cdn|cloudflare|cross-origin|document-policy|permissions-policy|public-key-pins|shared-storage|x-accel|x-litespeed|x-reproxy)(?:-|$)/;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const ESCAPED = /\\(?:(["\\])|u([0-9a-fA-F]{4}))/g;

/**
 * Reads the custom properties from a request's headers (semantics #148, H10): quoted values are strings or
 * dates, unquoted ones numbers, booleans or strings. The caller checks the limits of properties. Throws
 * ArgumentError.
 */
export function readPropertyHeaders(headers: Headers): Properties {
  const read: [string, PropertyValue][] = [];
  for (const [name, value] of headers) {
    if (isPropertyHeader(name)) read.push([name, parseHeaderValue(name, decodeHeader(value))]);
  }
  // `fromEntries` defines own keys, so that a property may even be called `__proto__`.
  return Object.fromEntries(read);
}

function isPropertyHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return !STANDARD_HEADERS.has(lower) && !STANDARD_FAMILY.test(lower);
}

/** Whether a response may carry a property as a header. */
function isSafeInAnswers(name: string): boolean {
  const lower = name.toLowerCase();
  return !ACTING_HEADERS.has(lower) && !ACTING_FAMILY.test(lower);
}

function parseHeaderValue(name: string, text: string): PropertyValue {
  if (text.length >= 2 && text.startsWith('"') && text.endsWith('"')) {
    return parseQuoted(name, text.slice(1, -1));
  }
  switch (text) {
    case 'true':
    case 'false':
      return { type: 'boolean', value: text === 'true' };
    case 'null':
      return { type: 'null' };
    case 'NaN':
    case 'Infinity':
    case '-Infinity':
      return { type: 'double', value: Number(text) };
    default:
      return numberProperty(text) ?? { type: 'string', value: text };
  }
}

/** Unknown escapes stay as they are, since users write `"C:\temp"` literally. */
function parseQuoted(name: string, quoted: string): PropertyValue {
  const date = parseHttpDate(quoted);
  if (date !== undefined) return { type: 'dateTime', value: date };
  const value = quoted.replace(ESCAPED, (_, plain: string | undefined, hex: string) =>
    plain === undefined ? String.fromCharCode(Number.parseInt(hex, 16)) : plain,
  );
  return { type: 'string', value: requireWellFormed(value, `The property '${name}'`) };
}

/** The properties that become headers, and those whose names no header can or may have. */
export interface PrintedProperties {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly others: Properties;
}

/**
 * Prints properties as headers, in ASCII only. Types without a spelling of their own become the nearest: a
 * guid a string, a byte an int. Of names that differ only in case, the first one becomes a header.
 */
export function printPropertyHeaders(properties: Properties): PrintedProperties {
  const headers: [string, string][] = [];
  const others: [string, PropertyValue][] = [];
  const used = new Set<string>();
  for (const [name, value] of Object.entries(properties)) {
    const lower = name.toLowerCase();
    if (canBeHeader(name) && !used.has(lower)) {
      used.add(lower);
      headers.push([name, printHeaderValue(value)]);
    } else {
      others.push([name, value]);
    }
  }
  return { headers, others: Object.fromEntries(others) };
}

function canBeHeader(name: string): boolean {
  return HEADER_NAME.test(name) && isPropertyHeader(name) && isSafeInAnswers(name);
}

function printHeaderValue(property: PropertyValue): string {
  switch (property.type) {
    case 'null':
      return 'null';
    case 'string':
    case 'char':
    case 'uri':
    case 'guid':
      return quoteText(property.value);
    case 'float':
    case 'double':
      return Number.isFinite(property.value) ? doubleText(property.value) : String(property.value);
    case 'dateTime':
      return `"${dateText(property.value)}"`;
    case 'dateTimeOffset':
      return `"${ticksAsDate(property.value)}"`;
    case 'timeSpan':
      return `"${ticksAsTimeSpan(property.value)}"`;
    case 'decimal':
    case 'bytes':
      return `"${base64(property.value)}"`;
    default:
      return String(property.value);
  }
}

/** Prints an instant as a date, or as its epoch ms where JavaScript's dates cannot represent it. */
function dateText(ms: number): string {
  return Number.isNaN(new Date(ms).getTime()) ? String(ms) : httpDate(ms);
}

/**
 * Quotes a string. Escapes the first letter of one that looks like a date, since it would parse as a date.
 */
function quoteText(value: string): string {
  const escaped = escapeNonAscii(value.replace(/["\\]/g, '\\$&'));
  if (parseHttpDate(value) === undefined) return `"${escaped}"`;
  return `"\\u${value.charCodeAt(0).toString(16).padStart(4, '0')}${escaped.slice(1)}"`;
}
