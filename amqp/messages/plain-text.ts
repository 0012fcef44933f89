import { type AmqpValue, textOf } from '../wire/value.ts';
import { guidText } from './property-values.ts';

/** A value as JSON, for those who do not speak AMQP. 64-bit numbers stand in full. */
export function plainText(value: AmqpValue): string {
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
      return instant(value.value);
    case 'uuid':
      return JSON.stringify(guidText(value.value));
    case 'binary':
    case 'decimal32':
    case 'decimal64':
    case 'decimal128':
      return JSON.stringify(Buffer.from(value.value).toString('base64'));
    case 'list':
    case 'array':
      return `[${value.value.map(plainText).join(',')}]`;
    case 'map':
      return `{${value.value.map(([key, item]) => `${keyText(key)}:${plainText(item)}`).join(',')}}`;
    case 'described':
      return plainText(value.value);
    default:
      return String(value.value);
  }
}

function keyText(key: AmqpValue): string {
  return JSON.stringify(textOf(key) ?? plainText(key));
}

function instant(ms: bigint): string {
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? String(ms) : JSON.stringify(date.toISOString());
}

/** A message or correlation id of any of its four types, as the text that others know it by. */
export function idText(value: AmqpValue | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value.type === 'uuid') return guidText(value.value);
  return textOf(value) ?? plainText(value).replaceAll('"', '');
}
