import { quotedSize } from '../../shared/domain/messages/printed-size.ts';
import { type AmqpValue, textOf } from '../wire/value.ts';
import { guidText } from './property-values.ts';

/**
 * Returns a value as JSON, for clients without AMQP. 64-bit numbers keep all their digits. NaN and Infinity become
 * strings; binary and decimal values become strings in base64.
 */
export function jsonText(value: AmqpValue): string {
  switch (value.type) {
    case 'null':
      return 'null';
    case 'string':
    case 'symbol':
      return JSON.stringify(value.value);
    case 'char':
      return JSON.stringify(value.value <= 0x10ffff ? String.fromCodePoint(value.value) : '');
    case 'float':
    case 'double':
      return Number.isFinite(value.value) ? String(value.value) : `"${value.value}"`;
    case 'timestamp':
      return timestampText(value.value);
    case 'uuid':
      return JSON.stringify(guidText(value.value));
    case 'binary':
    case 'decimal32':
    case 'decimal64':
    case 'decimal128':
      return JSON.stringify(Buffer.from(value.value).toString('base64'));
    case 'list':
    case 'array':
      return `[${value.value.map(jsonText).join(',')}]`;
    case 'map':
      return `{${value.value.map(([key, item]) => `${keyText(key)}:${jsonText(item)}`).join(',')}}`;
    case 'described':
      return jsonText(value.value);
    default:
      return String(value.value);
  }
}

/** Returns the maximum length of `jsonText` of a value, bytes. */
export function jsonBytesMax(value: AmqpValue): number {
  switch (value.type) {
    case 'string':
    case 'symbol':
      return quotedSize(value.value);
    case 'binary':
      return '""'.length + 4 * Math.ceil(value.value.byteLength / 3);
    case 'list':
    case 'array':
      return value.value.reduce((sum, item) => sum + jsonBytesMax(item) + ','.length, '[]'.length);
    case 'map':
      return value.value.reduce(
        (sum, [key, item]) => sum + keyBytesMax(key) + jsonBytesMax(item) + ':,'.length,
        '{}'.length,
      );
    case 'described':
      return jsonBytesMax(value.value);
    default:
      return FIXED_BYTES_MAX[value.type];
  }
}

/** The maximum length of the JSON of each type of fixed width. */
const FIXED_BYTES_MAX = {
  null: 'null'.length,
  boolean: 'false'.length,
  ubyte: '255'.length,
  byte: '-128'.length,
  ushort: '65535'.length,
  short: '-32768'.length,
  uint: '4294967295'.length,
  int: '-2147483648'.length,
  ulong: '18446744073709551615'.length,
  long: '-9223372036854775808'.length,
  float: '-2.2250738585072014e-308'.length,
  double: '-2.2250738585072014e-308'.length,
  timestamp: '"+275760-09-13T00:00:00.000Z"'.length,
  char: '"\\ud800"'.length,
  uuid: '"00000000-0000-0000-0000-000000000000"'.length,
  decimal32: '"AAAAAA=="'.length,
  decimal64: '"AAAAAAAAAAA="'.length,
  decimal128: '"AAAAAAAAAAAAAAAAAAAAAA=="'.length,
} as const;

/** A key that is not a text becomes JSON and then a JSON string, in which each character may be escaped. */
function keyBytesMax(key: AmqpValue): number {
  const text = textOf(key);
  return text === undefined ? '""'.length + 2 * jsonBytesMax(key) : quotedSize(text);
}

function keyText(key: AmqpValue): string {
  return JSON.stringify(textOf(key) ?? jsonText(key));
}

function timestampText(ms: bigint): string {
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? String(ms) : JSON.stringify(date.toISOString());
}

/** Returns a message or correlation id of any of its four types as text, as other protocols show it. */
export function idText(value: AmqpValue | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value.type === 'uuid') return guidText(value.value);
  return textOf(value) ?? jsonText(value).replaceAll('"', '');
}
