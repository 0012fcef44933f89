import {
  type AmqpValue,
  array,
  binary,
  bool,
  described,
  int,
  list,
  long,
  mapOf,
  NULL,
  str,
  symbol,
  timestamp,
  ubyte,
  uint,
  ulong,
  ushort,
  uuid,
} from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';

const TEXTS = [
  '',
  'q',
  's',
  't',
  't/Subscriptions/x',
  'q/$DeadLetterQueue',
  '$cbs',
  'no such thing',
  'com.microsoft:timeout',
  '\u0000\ud83d',
  'x'.repeat(300),
] as const;
const NUMBERS = [0, 1, 2, 255, 256, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as const;
const BIG = [0n, 1n, 255n, 2n ** 31n, 2n ** 53n, 2n ** 63n - 1n] as const;

/** Any value, mostly small. */
export function anyValue(random: LoadRandom, depth = 0): AmqpValue {
  const inner = () => anyValue(random, depth + 1);
  const few = () => Array.from({ length: random.below(4) }, inner);
  const simple: readonly (() => AmqpValue)[] = [
    () => NULL,
    () => bool(random.chance(0.5)),
    () => ubyte(random.below(256)),
    () => ushort(random.below(65_536)),
    () => uint(random.pick(NUMBERS)),
    () => int(random.below(2 ** 32) - 2 ** 31),
    () => long(-random.pick(BIG)),
    () => ulong(random.pick(BIG)),
    () => timestamp(random.pick([0, -1, 8_640_000_000_000_001, Date.now()])),
    () => uuid(Buffer.alloc(16, random.below(256))),
    () => binary(Buffer.alloc(random.below(40), 1)),
    () => str(random.pick(TEXTS)),
    () => symbol(random.pick(TEXTS)),
    () => ({
      type: 'double',
      value: random.pick([0, Number.NaN, Number.POSITIVE_INFINITY, -0, 1e9]),
    }),
    () => ({ type: 'float', value: random.pick([0, Number.NaN, 1.5]) }),
    () => ({ type: 'char', value: random.pick([0x41, 0x1_f600, 0xd800, 0xffff_ffff]) }),
    () => ({ type: 'decimal64', value: Buffer.alloc(8, random.below(256)) }),
  ];
  const compound: readonly (() => AmqpValue)[] = [
    () => list(few()),
    () => mapOf(Object.fromEntries(TEXTS.slice(0, random.below(5)).map((key) => [key, inner()]))),
    () => ({ type: 'map', value: [[inner(), inner()]] }),
    () => array('string', TEXTS.slice(0, random.below(5)).map(str)),
    () => array('uuid', [uuid(Buffer.alloc(16, random.below(256)))]),
    () => array('long', BIG.slice(0, random.below(4)).map(long)),
    () => described(BigInt(random.between(0x10, 0x80)), inner()),
    () => ({ type: 'described', descriptor: inner(), value: inner() }),
  ];
  const kinds = depth > 4 || random.chance(0.6) ? simple : [...simple, ...compound];
  const kind = kinds[random.below(kinds.length)];
  return kind === undefined ? NULL : kind();
}

/** A value, or sometimes any other in its place. */
export function orAny(random: LoadRandom, value: AmqpValue, share = 0.03): AmqpValue {
  return random.chance(share) ? anyValue(random) : value;
}

/** Encoded values that announce more than they hold, or hold very much. */
export function bomb(random: LoadRandom): Buffer {
  const huge = 'ffffffff';
  return Buffer.from(
    random.pick([
      `d0${huge}${huge}`,
      `d1${huge}${huge}`,
      `f0${huge}${huge}40`,
      `f00000000affffffff40`,
      `f0000000050000040040`,
      `f0000000050010000043`,
      `b0${huge}`,
      `a1ff00`,
      `c0ffff`,
      `e0ffff45`,
      'c00401'.repeat(200),
      '00'.repeat(500),
      '0053'.repeat(100),
      `d00000000500000001`.repeat(60),
      `c1030140`,
      `e00300e045`,
    ]),
    'hex',
  );
}
