import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './attribute-values.ts';
import { notSimulated, validationFailed } from './failures.ts';
import { canonicalNumber } from './numbers.ts';

/** The deepest level of a value; the attributes of an item are the first level. */
const LEVELS_MAX = 32;

/**
 * The stored form of an item: a copy that the sender cannot change, with numbers in canonical form. Throws
 * ValidationException if a value breaks a rule of the service.
 */
export function storableItem(item: Item, level = 1): Item {
  if (level > LEVELS_MAX) throw tooDeep();
  const taken: Item = {};
  for (const name in item) {
    const value = item[name];
    // The SDK does not send undefined attributes.
    if (value !== undefined) taken[name] = storableValue(value, level);
  }
  return taken;
}

/** The stored form of one value. */
export function storableValue(value: AttributeValue, level = 1): AttributeValue {
  if (value.S !== undefined) return { S: value.S };
  if (value.N !== undefined) return { N: canonicalNumber(value.N) };
  if (value.B !== undefined) return { B: new Uint8Array(value.B) };
  if (value.M !== undefined) return { M: storableItem(value.M, level + 1) };
  if (value.BOOL !== undefined) return { BOOL: value.BOOL };
  if (value.NULL !== undefined) return { NULL: value.NULL };
  if (value.L !== undefined) {
    if (level >= LEVELS_MAX) throw tooDeep();
    return { L: value.L.map((element) => storableValue(element, level + 1)) };
  }
  return storableSet(value);
}

function tooDeep(): Error {
  return validationFailed('Nesting Levels have exceeded supported limits');
}

function storableSet(set: AttributeValue): AttributeValue {
  if (set.NS !== undefined) return withoutDuplicates({ NS: set.NS.map(canonicalNumber) }, 'NS');
  if (set.SS !== undefined) return withoutDuplicates({ SS: [...set.SS] }, 'SS');
  if (set.BS !== undefined) {
    return withoutDuplicates({ BS: set.BS.map((bytes) => new Uint8Array(bytes)) }, 'BS');
  }
  throw notSimulated(`a value of ${Object.keys(set).join()}`);
}

function withoutDuplicates<SetValue extends AttributeValue>(
  set: SetValue,
  kind: 'NS' | 'SS' | 'BS',
): SetValue {
  const members: readonly (string | Uint8Array)[] = set[kind] ?? [];
  if (members.length === 0) {
    throw validationFailed('One or more parameter values were invalid: A set may not be empty');
  }
  const texts = members.map((each) =>
    typeof each === 'string' ? each : Buffer.from(each).toString('latin1'),
  );
  if (new Set(texts).size < members.length) {
    throw validationFailed(
      'One or more parameter values were invalid: Input collection contains duplicates.',
    );
  }
  return set;
}
