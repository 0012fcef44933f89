import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './table.ts';

/** A write costs one unit for each started KB of the item. */
export const UNIT_BYTES = 1024;
/** The database's limit for an item, less a margin for keys and names. */
export const ITEM_BYTES_MAX = 390 * UNIT_BYTES;

const COLLECTION_OVERHEAD = 3;
const ELEMENT_OVERHEAD = 1;

/** The size of an item as the service charges it: names and values, plus the overhead of maps. */
export function itemSize(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + textSize(name) + valueSize(value),
    0,
  );
}

function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return textSize(value.S);
  if (value.N !== undefined) return numberSize(value.N);
  if (value.B !== undefined) return value.B.byteLength;
  if (value.M !== undefined) {
    return Object.entries(value.M).reduce(
      (sum, [name, element]) => sum + ELEMENT_OVERHEAD + textSize(name) + valueSize(element),
      COLLECTION_OVERHEAD,
    );
  }
  return 1;
}

const textSize = (text: string): number => Buffer.byteLength(text);

/** About one byte for two significant digits, plus one. */
function numberSize(digits: string): number {
  const significant = digits.replace('-', '').replace(/^0+|0+$/g, '').length;
  return Math.ceil(significant / 2) + 1 + (digits.startsWith('-') ? 1 : 0);
}
