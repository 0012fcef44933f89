import { encode } from '../../../amqp/wire/encode.ts';
import { binary, str, symbol } from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { compound, listOf, mapping, text } from './amqp-bytes.ts';

/** One-byte values: null, true, false, 0 as uint and ulong, the empty list. */
const ONE_BYTE = [0x40, 0x41, 0x42, 0x43, 0x44, 0x45] as const;

/** An encoded value of about so many bytes, whose decoded form is far larger, or costs much to read. */
export function largeForm(random: LoadRandom, bytes: number): Buffer {
  const draw = random.pick(FORMS);
  return draw(random, bytes);
}

/** The same as a map with texts for keys, as fields want one that hold properties or annotations. */
export function largeMap(random: LoadRandom, bytes: number): Buffer {
  const draw = random.pick([manyKeys, oneLargeValue, oneLargeValue]);
  return draw(random, bytes);
}

type Draw = (random: LoadRandom, bytes: number) => Buffer;

const ones = (random: LoadRandom, count: number): Buffer =>
  Buffer.alloc(Math.max(0, count), random.pick(ONE_BYTE));

const FORMS: readonly [Draw, ...Draw[]] = [
  (random, bytes) => compound(0xd0, bytes, ones(random, bytes)),
  (random, bytes) => compound(0xd0, bytes, ones(random, bytes)),
  (random, bytes) => compound(0xd1, bytes & ~1, ones(random, bytes & ~1)),
  // Elements without a byte: as many as one cares to claim.
  (random, bytes) =>
    compound(0xf0, random.pick([bytes, 1_000_000, 2 ** 31, 2 ** 32 - 1]), ones(random, 1)),
  // One byte each.
  (random, bytes) =>
    compound(0xf0, bytes, Buffer.concat([Buffer.of(0x56), Buffer.alloc(bytes, random.below(2))])),
  // Empty texts, symbols and binaries.
  (random, bytes) => {
    const code = random.pick([0xa0, 0xa1, 0xa3]);
    const count = bytes >> 1;
    return compound(0xd0, count, Buffer.alloc(count * 2, Buffer.of(code, 0)));
  },
  (random, bytes) => {
    const code = random.pick([0xa0, 0xa1, 0xa3]);
    return compound(0xf0, bytes, Buffer.concat([Buffer.of(code), Buffer.alloc(bytes)]));
  },
  // Described values: an unknown descriptor with an empty list.
  (_random, bytes) =>
    compound(0xd0, bytes >> 2, Buffer.alloc((bytes >> 2) << 2, Buffer.of(0, 0x53, 0x24, 0x45))),
  // Descriptors of descriptors.
  (_random, bytes) => Buffer.concat([Buffer.alloc(bytes), Buffer.of(0x44)]),
  (random, bytes) => nested(random, bytes, 9),
  (random, bytes) => {
    const inner = largeForm(random, 40);
    const count = Math.max(1, Math.floor(bytes / inner.length));
    return compound(0xd0, count, Buffer.alloc(count * inner.length, inner));
  },
  (_random, bytes) => encode(str('x'.repeat(bytes))),
  (_random, bytes) => encode(symbol('x'.repeat(bytes))),
  (_random, bytes) => encode(binary(Buffer.alloc(bytes, 1))),
  manyKeys,
  oneLargeValue,
];

/** Lists within lists, as deep as the bytes last. */
function nested(_random: LoadRandom, bytes: number, head: number): Buffer {
  const depth = Math.floor(bytes / head);
  const out = Buffer.alloc(depth * head + 1, 0x45);
  for (let level = 0; level < depth; level++) {
    const at = level * head;
    out[at] = 0xd0;
    out.writeUInt32BE(out.length - at - 5, at + 1);
    out.writeUInt32BE(1, at + 5);
  }
  return out;
}

function manyKeys(random: LoadRandom, bytes: number): Buffer {
  const items: Buffer[] = [];
  const value = Buffer.of(random.pick(ONE_BYTE));
  for (let length = 0; length < bytes; ) {
    const key = text(`k${items.length}`);
    items.push(key, value);
    length += key.length + 1;
  }
  return compound(0xd1, items.length, Buffer.concat(items));
}

function oneLargeValue(random: LoadRandom, bytes: number): Buffer {
  const name = random.pick(['x', 'com.microsoft:timeout', 'com.microsoft:session-filter']);
  return mapping(text(name), largeForm(random, Math.max(1, bytes - 60)));
}

/** A source with large fields: its filters, capabilities, or properties of a dynamic node. */
export function largeSource(random: LoadRandom, address: string, bytes: number): Buffer {
  const fields = [text(address), ...Array<Buffer>(10).fill(Buffer.of(0x40))];
  fields[random.pick([5, 7, 7, 8, 9, 10])] = random.chance(0.5)
    ? largeForm(random, bytes)
    : largeMap(random, bytes);
  return Buffer.concat([Buffer.of(0x00, 0x53, 0x28), listOf(...fields)]);
}
