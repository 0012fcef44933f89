import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { LoadRandom } from '../../../support/load-random.ts';
import { type Item, type Kind, kindOf } from '../attribute-values.ts';
import { ANY_NAME, type AttributeTypes, type ValueTypes } from '../corpus/value-types.ts';

/** Few values, so that conditions often hold, and values at which rules of the service change. */
const NUMBERS = [
  ...['0', '1', '2', '3', '-1', '10', '99', '100', '1790000000000', '1790000000001'],
  ...['9007199254740993', '-12345678901234567890', '0.5', '1e3', '00120'],
] as const;
const TEXTS = ['', 'a', 'ab', 'b', 'q', 'é', '\u{1f600}', '\uffee', 'a-rather-long-text'] as const;
/** Names in place of `ANY_NAME`; slots have such names, too. */
const NAMES = ['a', 'b', 'c', 'd'] as const;
const BYTES = [0, 1, 2, 16, 17] as const;
/** Lengths of occasional long values, so that prices differ and pages end. */
const LONG_BYTES = [900, 1023, 1025, 4000, 4096, 100_000] as const;
const LONG_CHANCE = 0.03;
/** The probability of each attribute that an item may have. */
const ATTRIBUTE_CHANCE = 0.7;
const ELEMENTS_MAX = 3;

/** A random item with some of the attributes in `types`. */
export function randomItem(random: LoadRandom, types: AttributeTypes): Item {
  const item: Item = {};
  for (const [name, type] of Object.entries(types)) {
    const names = name === ANY_NAME ? NAMES : [name];
    for (const each of names) {
      if (random.chance(ATTRIBUTE_CHANCE)) item[each] = randomValue(random, type);
    }
  }
  return item;
}

/** A random value with one of the types. */
export function randomValue(random: LoadRandom, types: ValueTypes): AttributeValue {
  const kinds = Object.keys(types) as Kind[];
  const kind = kinds[random.below(kinds.length)] ?? 'S';
  switch (kind) {
    case 'S':
      return { S: isLong(random) ? 'x'.repeat(random.pick(LONG_BYTES)) : random.pick(TEXTS) };
    case 'N':
      return { N: random.pick(NUMBERS) };
    case 'B':
      return { B: randomBytes(random) };
    case 'BOOL':
      return { BOOL: random.chance(0.5) };
    case 'NULL':
      return { NULL: true };
    case 'NS':
      return { NS: [...new Set([randomWhole(random), randomWhole(random)])] };
    case 'M':
      return { M: randomItem(random, types.M ?? {}) };
    case 'L': {
      const element = types.L ?? {};
      const count = Object.keys(element).length === 0 ? 0 : random.below(ELEMENTS_MAX);
      return { L: Array.from({ length: count }, () => randomValue(random, element)) };
    }
    default:
      throw new Error(`No recorded request of storage has a value of the type ${kind}.`);
  }
}

/** All values in an item, also in its maps, with one of the types. */
export function valuesIn(item: Item | undefined, types: ValueTypes): readonly AttributeValue[] {
  return Object.values(item ?? {}).flatMap((value) => {
    const inner = value.M === undefined ? [] : valuesIn(value.M, types);
    return kindOf(value) in types ? [value, ...inner] : inner;
  });
}

function randomWhole(random: LoadRandom): string {
  return String(random.below(4));
}

function randomBytes(random: LoadRandom): Uint8Array {
  const length = isLong(random) ? random.pick(LONG_BYTES) : random.pick(BYTES);
  return new Uint8Array(length).fill(random.below(3));
}

function isLong(random: LoadRandom): boolean {
  return random.chance(LONG_CHANCE);
}
