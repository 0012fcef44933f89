import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './attribute-values.ts';
import { significantDigits } from './numbers.ts';

/** Sizes and prices, as the service documents them. */

const KILOBYTE = 1024;
const WRITE_UNIT_BYTES = KILOBYTE;
const READ_UNIT_BYTES = 4 * KILOBYTE;
/** The largest item, in bytes. */
export const ITEM_BYTES_MAX = 400 * KILOBYTE;

/** The overhead of a map or a list, and of each of its elements. */
const COLLECTION_BYTES = 3;
const ELEMENT_BYTES = 1;

/** Bytes of an item: its names and its values. */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const name in item) {
    bytes += textBytes(name) + valueBytes(item[name] as AttributeValue);
  }
  return bytes;
}

/** Bytes of a value. */
export function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return textBytes(value.S);
  if (value.N !== undefined) return numberBytes(value.N);
  if (value.B !== undefined) return value.B.byteLength;
  if (value.M !== undefined) return mapBytes(value.M);
  if (value.NS !== undefined) return total(value.NS, numberBytes);
  if (value.SS !== undefined) return total(value.SS, textBytes);
  if (value.BS !== undefined) return total(value.BS, (bytes) => bytes.byteLength);
  if (value.L !== undefined) {
    return COLLECTION_BYTES + total(value.L, (element) => ELEMENT_BYTES + valueBytes(element));
  }
  return 1;
}

function mapBytes(map: Item): number {
  let bytes = COLLECTION_BYTES;
  for (const name in map) {
    bytes += ELEMENT_BYTES + textBytes(name) + valueBytes(map[name] as AttributeValue);
  }
  return bytes;
}

/** One byte per two significant digits, one more byte, and one for a minus sign. */
function numberBytes(text: string): number {
  return Math.ceil(significantDigits(text) / 2) + 1 + (text.startsWith('-') ? 1 : 0);
}

/** Bytes of a text in UTF-8. */
export function textBytes(text: string): number {
  return Buffer.byteLength(text);
}

function total<Member>(members: readonly Member[], bytesOf: (member: Member) => number): number {
  let bytes = 0;
  for (const member of members) bytes += bytesOf(member);
  return bytes;
}

/** The price of a write; `bytes` = the larger size of the item before and after. */
export function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
}

/** The price of a read; eventually consistent reads cost half. */
export function readUnits(bytes: number, isConsistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (isConsistent ? 1 : 0.5);
}
