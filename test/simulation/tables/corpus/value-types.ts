import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { type Item, type Kind, kindOf } from '../attribute-values.ts';

/** The types that a value had in the recorded requests; maps and lists also have those of their elements. */
export type ValueTypes = Partial<Record<Exclude<Kind, 'M' | 'L'>, true>> & {
  M?: AttributeTypes;
  L?: ValueTypes;
};

/** The types of attributes, by name; `*` stands for any name. */
export type AttributeTypes = Record<string, ValueTypes>;

/** Stands for any name in a map. */
export const ANY_NAME = '*';
/** In a map with more names than this, the names are data. */
const NAMES_MAX = 24;
/** The name of a slot of a block. */
const SLOT = /^[0-9A-Za-z]$/;

/** The types in an item. */
export function typesOfItem(item: Item): AttributeTypes {
  const names = Object.keys(item);
  const types = Object.fromEntries(
    names.map((name) => [name, typesOf(item[name] as AttributeValue)]),
  );
  const areSlots = names.every((name) => SLOT.test(name) && types[name]?.M !== undefined);
  return areSlots || names.length > NAMES_MAX ? underAnyName(types) : types;
}

/** The types in a value. */
export function typesOf(value: AttributeValue): ValueTypes {
  const kind = kindOf(value);
  if (kind === 'M') return { M: typesOfItem(value.M ?? {}) };
  if (kind !== 'L') return { [kind]: true };
  return { L: (value.L ?? []).map(typesOf).reduce(mergedTypes, {}) };
}

/** The types that either of two values has. */
export function mergedTypes(a: ValueTypes, b: ValueTypes): ValueTypes {
  const merged: ValueTypes = { ...a, ...b };
  if (a.M !== undefined && b.M !== undefined) merged.M = mergedAttributes(a.M, b.M);
  if (a.L !== undefined && b.L !== undefined) merged.L = mergedTypes(a.L, b.L);
  return merged;
}

/** The types that either of two items has. */
export function mergedAttributes(a: AttributeTypes, b: AttributeTypes): AttributeTypes {
  const merged = { ...a };
  for (const [name, types] of Object.entries(b)) {
    const known = merged[name];
    merged[name] = known === undefined ? types : mergedTypes(known, types);
  }
  const isAny = ANY_NAME in merged || Object.keys(merged).length > NAMES_MAX;
  return isAny ? underAnyName(merged) : merged;
}

function underAnyName(types: AttributeTypes): AttributeTypes {
  const all = Object.values(types);
  return all.length === 0 ? {} : { [ANY_NAME]: all.reduce(mergedTypes) };
}
