import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { notSimulated } from './failures.ts';
import { compareNumbers } from './numbers.ts';
import { compareTexts } from './text-order.ts';

/** An item in the SDK's form: attributes by name. */
export type Item = Record<string, AttributeValue>;

/** The types of values. */
export type Kind = 'S' | 'N' | 'B' | 'M' | 'L' | 'BOOL' | 'NULL' | 'SS' | 'NS' | 'BS';

/** The type of a value. */
export function kindOf(value: AttributeValue): Kind {
  if (value.S !== undefined) return 'S';
  if (value.N !== undefined) return 'N';
  if (value.B !== undefined) return 'B';
  if (value.M !== undefined) return 'M';
  if (value.L !== undefined) return 'L';
  if (value.BOOL !== undefined) return 'BOOL';
  if (value.NULL !== undefined) return 'NULL';
  if (value.NS !== undefined) return 'NS';
  if (value.SS !== undefined) return 'SS';
  if (value.BS !== undefined) return 'BS';
  throw notSimulated(`a value of ${Object.keys(value).join()}`);
}

/** A copy that shares nothing with the stored item, so that its receiver may change it. */
export function copyItem(item: Item): Item {
  const copy: Item = {};
  for (const name in item) copy[name] = copyValue(item[name] as AttributeValue);
  return copy;
}

/** A copy of one value. */
export function copyValue(value: AttributeValue): AttributeValue {
  if (value.S !== undefined) return { S: value.S };
  if (value.N !== undefined) return { N: value.N };
  if (value.B !== undefined) return { B: new Uint8Array(value.B) };
  if (value.M !== undefined) return { M: copyItem(value.M) };
  if (value.L !== undefined) return { L: value.L.map(copyValue) };
  if (value.BOOL !== undefined) return { BOOL: value.BOOL };
  if (value.NULL !== undefined) return { NULL: value.NULL };
  if (value.NS !== undefined) return { NS: [...value.NS] };
  if (value.SS !== undefined) return { SS: [...value.SS] };
  if (value.BS !== undefined) return { BS: value.BS.map((bytes) => new Uint8Array(bytes)) };
  throw notSimulated(`a value of ${Object.keys(value).join()}`);
}

/** Whether two values are the same, types included. Numbers are in canonical form. */
export function areEqual(a: AttributeValue, b: AttributeValue): boolean {
  if (a.S !== undefined) return a.S === b.S;
  if (a.N !== undefined) return a.N === b.N;
  if (a.B !== undefined) return b.B !== undefined && compareBytes(a.B, b.B) === 0;
  if (a.M !== undefined) return b.M !== undefined && areEqualMaps(a.M, b.M);
  if (a.BOOL !== undefined) return a.BOOL === b.BOOL;
  if (a.NULL !== undefined) return a.NULL === b.NULL;
  if (a.L !== undefined) {
    const others = b.L;
    if (others?.length !== a.L.length) return false;
    return a.L.every((element, i) => areEqual(element, others[i] as AttributeValue));
  }
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return false;
  const [mine, others] = [membersOf(a), membersOf(b)];
  return mine.length === others.length && mine.every((member) => hasMember(b, member));
}

function areEqualMaps(a: Item, b: Item): boolean {
  let count = 0;
  for (const name in a) {
    const other = b[name];
    if (other === undefined || !areEqual(a[name] as AttributeValue, other)) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
}

/** Negative, zero or positive; undefined = the values cannot be ordered. */
export function compareValues(a: AttributeValue, b: AttributeValue): number | undefined {
  if (a.S !== undefined && b.S !== undefined) return compareTexts(a.S, b.S);
  if (a.N !== undefined && b.N !== undefined) return compareNumbers(a.N, b.N);
  if (a.B !== undefined && b.B !== undefined) return compareBytes(a.B, b.B);
  return undefined;
}

/** The members of a set, each as a value. */
export function membersOf(set: AttributeValue): readonly AttributeValue[] {
  if (set.NS !== undefined) return set.NS.map((N) => ({ N }));
  if (set.SS !== undefined) return set.SS.map((S) => ({ S }));
  return (set.BS ?? []).map((B) => ({ B }));
}

/** Whether a set has a member. */
export function hasMember(set: AttributeValue, member: AttributeValue): boolean {
  if (set.NS !== undefined) return member.N !== undefined && set.NS.includes(member.N);
  if (set.SS !== undefined) return member.S !== undefined && set.SS.includes(member.S);
  const bytes = member.B;
  return bytes !== undefined && (set.BS ?? []).some((each) => compareBytes(each, bytes) === 0);
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
