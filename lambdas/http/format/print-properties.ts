import { doubleText } from '../../../shared/domain/messages/number-text.ts';
import type {
  Properties,
  PropertyType,
  PropertyValue,
} from '../../../shared/domain/messages/property-value.ts';
import { base64 } from '../message-formats/base64.ts';

const INT32_MAX = 2n ** 31n - 1n;

/** Prints properties as JSON, from which `readProperties` restores the same types. */
export function printProperties(properties: Properties): string {
  const members = Object.entries(properties).map(
    ([name, value]) => `${JSON.stringify(name)}:${printProperty(value)}`,
  );
  return `{${members.join(',')}}`;
}

/** Prints the value of a property as JSON, from which `readProperty` restores the same type. */
export function printProperty(property: PropertyValue): string {
  switch (property.type) {
    case 'null':
      return 'null';
    case 'boolean':
    case 'int':
      return String(property.value);
    case 'string':
      return JSON.stringify(property.value);
    case 'double':
      return Number.isFinite(property.value)
        ? doubleText(property.value)
        : typed('double', String(property.value));
    case 'float':
      return Number.isFinite(property.value)
        ? `{"$float":${doubleText(property.value)}}`
        : typed('float', String(property.value));
    case 'long':
      return printLong(property.value);
    case 'dateTime':
      return printDate(property.value);
    case 'bytes':
    case 'decimal':
      return typed(property.type, base64(property.value));
    case 'uri':
    case 'char':
    case 'guid':
    case 'ulong':
    case 'timeSpan':
    case 'dateTimeOffset':
      return typed(property.type, String(property.value));
    default:
      return `{"$${property.type}":${property.value}}`;
  }
}

/** A plain number only where it parses as a long again and JavaScript clients keep its digits. */
function printLong(value: bigint): string {
  const size = value < 0n ? -value : value;
  const plain = size > INT32_MAX + 1n && size <= BigInt(Number.MAX_SAFE_INTEGER);
  return plain ? String(value) : typed('long', String(value));
}

function printDate(ms: number): string {
  const date = new Date(ms);
  const hasIsoYear = date.getUTCFullYear() >= 0 && date.getUTCFullYear() <= 9999;
  return hasIsoYear ? typed('date', date.toISOString()) : `{"$date":${ms}}`;
}

const typed = (type: PropertyType | 'date', text: string): string =>
  `{"$${type}":${JSON.stringify(text)}}`;
