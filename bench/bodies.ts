import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { LIMITS } from '../shared/domain/limits.ts';
import { LoadRandom } from '../test/support/load-random.ts';

/** A kind of body to measure with. */
export interface BodySet {
  readonly name: string;
  /** Cycled through in order. */
  readonly bodies: readonly Buffer[];
  /** Whether all bodies may be different, so that one does not represent the others. */
  readonly isReal: boolean;
  /** The message size limit that the queue needs, KB; absent = the default is enough. */
  readonly messageKilobytesMax?: number;
}

const KB = 1024;
/** Enough that no two blocks have the same bodies. */
const BODIES = 400;
/** Fewer than of small bodies, to save memory. */
const LARGE_BODIES = 48;
const SEED = 'bench';
/** The most bytes of a message beside its body: its id and types. */
const MESSAGE_ROOM_BYTES = 256;

/** The bodies of the standard table, the same in every run. */
export function standardBodies(): readonly BodySet[] {
  const random = new LoadRandom(SEED);
  return [
    many('200 B', BODIES, () => jsonOf(random, 200)),
    many('1 KB', BODIES, () => jsonOf(random, KB)),
    many('64 KB, JSON', LARGE_BODIES, () => jsonOf(random, 64 * KB)),
    many('64 KB, random', LARGE_BODIES, () => noise(random, 64 * KB)),
  ];
}

/** The bodies that are published to topics, the same in every run. */
export function topicBodies(): readonly BodySet[] {
  const random = new LoadRandom(SEED);
  return [
    many('200 B', BODIES, () => jsonOf(random, 200)),
    many('4 KB', BODIES, () => jsonOf(random, 4 * KB)),
  ];
}

function many(name: string, count: number, make: () => Buffer): BodySet {
  return { name, bodies: Array.from({ length: count }, make), isReal: false };
}

/** Real bodies, from a file with one JSON document in each line. */
export function corpusBodies(file: string): BodySet {
  const bodies = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line));
  if (bodies.length === 0) throw new Error(`The corpus ${file} holds no document.`);
  const largest = Math.max(...bodies.map(({ byteLength }) => byteLength));
  const needed = Math.ceil((largest + MESSAGE_ROOM_BYTES) / KB);
  return {
    name: `corpus ${basename(file)}`,
    bodies,
    isReal: true,
    ...(needed > LIMITS.messageKilobytesDefault ? { messageKilobytesMax: needed } : {}),
  };
}

/** The tier that all of these bodies need: only Premium allows larger messages. */
export function tierFor(sets: readonly BodySet[]): 'Standard' | 'Premium' {
  const isLarge = sets.some(({ messageKilobytesMax }) => messageKilobytesMax !== undefined);
  return isLarge ? 'Premium' : 'Standard';
}

/** Divides bodies among calls, of at most `messages` messages and the size limit of a batch. */
export function intoCalls(bodies: readonly Buffer[], messages: number): readonly Buffer[][] {
  const calls: Buffer[][] = [];
  let call: Buffer[] = [];
  let bytes = 0;
  for (const body of bodies) {
    const size = body.byteLength + MESSAGE_ROOM_BYTES;
    if (call.length >= messages || (call.length > 0 && bytes + size > LIMITS.batchBytes)) {
      calls.push(call);
      call = [];
      bytes = 0;
    }
    call.push(body);
    bytes += size;
  }
  if (call.length > 0) calls.push(call);
  return calls;
}

/** JSON of exactly `bytes` bytes, as applications send it: names repeat, values do not. */
function jsonOf(random: LoadRandom, bytes: number): Buffer {
  const head = `{"id":"${hex(random, 8)}","type":"order.${random.pick(VERBS)}","at":"${instant(random)}"`;
  const lines: string[] = [];
  const room = bytes - head.length - `,"lines":[],"note":""}`.length;
  let length = 0;
  for (;;) {
    const line = `{"sku":"${hex(random, 5)}","name":"${random.pick(WORDS)} ${random.pick(WORDS)}","quantity":${random.below(100)},"price":${random.below(1e5) / 100}}`;
    if (length + line.length + 1 > room) break;
    lines.push(line);
    length += line.length + 1;
  }
  const commas = Math.max(0, lines.length - 1);
  const rest = room - (length - lines.length) - commas;
  return Buffer.from(`${head},"lines":[${lines.join(',')}],"note":"${words(random, rest)}"}`);
}

/** Bytes that cannot be compressed, as of an image. */
function noise(random: LoadRandom, bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, () => random.below(256)));
}

function words(random: LoadRandom, length: number): string {
  let text = '';
  while (text.length < length) text += `${random.pick(WORDS)} `;
  return text.slice(0, length);
}

function hex(random: LoadRandom, bytes: number): string {
  return noise(random, bytes).toString('hex');
}

function instant(random: LoadRandom): string {
  return new Date(1_767_225_600_000 + random.below(1e10)).toISOString();
}

const VERBS = ['placed', 'paid', 'packed', 'shipped', 'delivered', 'returned'] as const;
const WORDS = [
  ...[
    'oak',
    'table',
    'lamp',
    'green',
    'small',
    'glass',
    'door',
    'left',
    'cotton',
    'shelf',
    'round',
  ],
  ...[
    'please',
    'ring',
    'twice',
    'leave',
    'with',
    'neighbour',
    'fragile',
    'gift',
    'urgent',
    'until',
  ],
] as const;
