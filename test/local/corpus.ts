import { readFileSync } from 'node:fs';
import { LoadRandom } from '../support/load-random.ts';

/** One document of a corpus. The test expects it back unchanged. */
export interface CorpusDocument {
  /** Its MessageId. */
  readonly id: string;
  readonly text: string;
  readonly bytes: number;
}

const KB = 1024;
/** Sizes as of webhooks: most are small, a few are large, and one is over 1 MiB. */
const SIZES_BYTES = [
  ...Array.from({ length: 40 }, (_, i) => KB * (1 + (i % 13))),
  ...[24 * KB, 64 * KB, 65 * KB, 130 * KB, 255 * KB],
  ...[257 * KB, 400 * KB, 512 * KB, 600 * KB],
  1200 * KB,
];

/** Non-ASCII characters, quotes and escapes, which faulty JSON handling changes. */
const WORDS = [
  ...[
    'created',
    'push',
    'refs/heads/main',
    'Zürich',
    '日本語',
    '👩‍🚀 launched',
    '\u2028',
    '\ufeff',
  ],
  ...['a "quoted" word', 'back\\slash', 'tab\there', '<b>&amp;</b>', '\u0000', 'naïve', '0', ''],
] as const;

/** Generates JSON documents like those of webhooks; the same ones for the same seed. */
export function generateCorpus(seed: string): readonly CorpusDocument[] {
  const random = new LoadRandom(`${seed}:corpus`);
  return random.order(SIZES_BYTES.length).map((place, i) => {
    return toDocument(generateText(random, SIZES_BYTES[place] ?? KB), i);
  });
}

/** Reads a corpus with one JSON document per line. */
export function readCorpus(file: string): readonly CorpusDocument[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map(toDocument);
}

function toDocument(text: string, number: number): CorpusDocument {
  return { id: `document-${number}`, text, bytes: Buffer.byteLength(text) };
}

/** JSON of at least `bytes` bytes, and few more. */
function generateText(random: LoadRandom, bytes: number): string {
  const entries: string[] = [];
  for (let length = 0; length < bytes; ) {
    const entry = JSON.stringify(generateEntry(random));
    entries.push(entry);
    length += Buffer.byteLength(entry) + 1;
  }
  return `{"event":"push","commits":[${entries.join(',')}]}`;
}

function generateEntry(random: LoadRandom): object {
  return {
    id: Buffer.from(Array.from({ length: 20 }, () => random.below(256))).toString('hex'),
    message: `${word(random)} ${word(random)} ${word(random)}`,
    at: new Date(1_700_000_000_000 + random.below(1e10)).toISOString(),
    count: random.below(1e6),
    ratio: random.next(),
    distinct: random.chance(0.5),
    author: { name: word(random), url: `https://example.org/users/${random.below(1e9)}` },
    nothing: null,
  };
}

function word(random: LoadRandom): string {
  return random.pick(WORDS);
}
