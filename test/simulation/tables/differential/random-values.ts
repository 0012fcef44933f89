import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { LoadRandom } from '../../../support/load-random.ts';
import { type Item, type Kind, kindOf } from '../attribute-values.ts';
import { ANY_NAME, type AttributeTypes, type ValueTypes } from '../corpus/value-types.ts';

/** Few different values, so that conditions hold as often as not, and those at which rules change. */
const NUMBERS = [
  ...['0', '1', '2', '3', '-1', '10', '99', '100', '1790000000000', '1790000000001'],
  ...['9007199254740993', '-12345678901234567890', '0.5', '1e3', '00120'],
] as const;
const TEXTS = ['', 'a', 'ab', 'b', 'q', 'é', '\u{1f600}', '\uffee', 'a-rather-long-text'] as const;
/** Names that stand for any: some that slots bear, too. */
const NAMES = ['a', 'b', 'c', 'd'] as const;
const BYTES = [0, 1, 2, 16, 17] as const;
/** Now and then a value is as long as this, so that prices differ and pages end. */
const LONG_BYTES = [900, 1023, 1025, 4000, 4096, 100_000] as const;
const LONG_CHANCE = 0.03;
/** How likely an item has an attribute that such items may have. */
const ATTRIBUTE_CHANCE = 0.7;
const ELEMENTS_MAX = 3;

/** A random item with some of the attributes that such items were seen to have. */
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

/** A random value of one of some types. */
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
      throw new Error(`Storage was never seen to emit a value of the type ${kind}.`);
  }
}

/** Every value in an item, at any depth, that has one of some types. */
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
