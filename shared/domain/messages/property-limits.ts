import { argumentError, type BrokerError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import type { Properties, PropertyValue } from './property-value.ts';

/**
 * Throws ArgumentError for application properties that are too long, each or together (semantics M8).
 * `systemBytes` = the size of the message's system properties, which counts as well. `what` = how the sentence about
 * all of them begins.
 */
export function requirePropertiesFit(
  properties: Properties,
  systemBytes = 0,
  what = 'The properties of the message are',
): void {
  let total = systemBytes;
  for (const [name, value] of Object.entries(properties)) {
    const bytes = valueBytes(value);
    if (bytes > LIMITS.propertyValueBytes) {
      throw tooLong(`The property '${name.slice(0, 64)}' is`, bytes, LIMITS.propertyValueBytes);
    }
    total += utf8Bytes(name) + bytes;
  }
  if (total > LIMITS.propertiesBytes) {
    throw tooLong(what, total, LIMITS.propertiesBytes);
  }
}

/** Throws ArgumentError for so many properties that they must be too long, before they are parsed. */
export function requirePropertyCount(count: number): void {
  if (count <= LIMITS.properties) return;
  throw argumentError(
    `The message has ${count} properties, which are longer than ${LIMITS.propertiesBytes} bytes, the limit.`,
  );
}

/** The sizes of long properties, which a send needs several times. */
const KNOWN_BYTES = new WeakMap<Properties, number>();
const KNOWN_BYTES_MIN = 1024;

/** The size of the names and values of application properties, bytes. */
export function propertiesBytes(properties: Properties): number {
  const known = KNOWN_BYTES.get(properties);
  if (known !== undefined) return known;
  const bytes = Object.entries(properties).reduce(
    (sum, [name, value]) => sum + utf8Bytes(name) + valueBytes(value),
    0,
  );
  if (bytes >= KNOWN_BYTES_MIN) KNOWN_BYTES.set(properties, bytes);
  return bytes;
}

function tooLong(what: string, bytes: number, limit: number): BrokerError {
  return argumentError(`${what} ${bytes} bytes long; the limit is ${limit}.`);
}

/** The approximate size of a value on the wire; only long texts and binary values come near a limit. */
function valueBytes(value: PropertyValue): number {
  switch (value.type) {
    case 'null':
    case 'boolean':
      return 1;
    case 'string':
    case 'char':
    case 'uri':
      return utf8Bytes(value.value);
    case 'guid':
      return 16;
    case 'decimal':
    case 'bytes':
      return value.value.byteLength;
    default:
      return 8;
  }
}

/**
 * The size of a text in UTF-8, without encoding it. Each half of a surrogate pair counts 2 of the pair's 4
 * bytes.
 */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
