import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './attribute-values.ts';
import { validationFailed } from './failures.ts';
import { textBytes } from './sizes.ts';

/** The largest sizes of the two key attributes, in bytes. */
const BYTES_MAX = { pk: 2048, sk: 1024 } as const;
/** The key attributes of both tables. */
export const KEY_NAMES = Object.keys(BYTES_MAX) as readonly (keyof typeof BYTES_MAX)[];

/** Partition key and sort key. */
export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** The key of an item. Throws ValidationException. */
export function keyIn(item: Item | undefined): ItemKey {
  return { pk: keyText(item?.['pk'], 'pk'), sk: keyText(item?.['sk'], 'sk') };
}

/** A key as a request gives it, without other attributes. Throws ValidationException. */
export function soleKey(key: Item | undefined): ItemKey {
  for (const name in key) {
    if (name !== 'pk' && name !== 'sk') {
      throw validationFailed('The provided key element does not match the schema');
    }
  }
  return keyIn(key);
}

function keyText(value: AttributeValue | undefined, name: 'pk' | 'sk'): string {
  const text = value?.S;
  if (text === undefined) {
    throw validationFailed('The provided key element does not match the schema');
  }
  if (text === '') {
    throw validationFailed(
      `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: ${name}`,
    );
  }
  if (textBytes(text) > BYTES_MAX[name]) {
    throw validationFailed(
      `One or more parameter values were invalid: Size of ${name} has exceeded the maximum size limit of ${BYTES_MAX[name]} bytes`,
    );
  }
  return text;
}

/** A key in the form in which the SDK sees it. */
export function keyItem({ pk, sk }: ItemKey): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}
