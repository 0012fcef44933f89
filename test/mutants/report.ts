import type { Outcome } from './hunt.ts';

/** What became of one mutant. */
export interface Row {
  readonly name: string;
  readonly seed: number;
  /** What it takes to see the bug. */
  readonly needs: string;
  readonly outcome: Outcome | { readonly kind: 'gone'; readonly why: string };
}

const SENTENCE_LENGTH_MAX = 160;
const WIDTHS = { status: 9, check: 15, seconds: 8, seed: 11 };

export const HEADER = line('', 'check', 'after', 'seed', 'what is broken');

/** A row of the table, as text. */
export function textOf({ name, seed, outcome }: Row): string {
  switch (outcome.kind) {
    case 'found': {
      const seconds = `${(outcome.afterMs / 1000).toFixed(1)} s`;
      return line('found', outcome.check, seconds, String(seed), name);
    }
    case 'survived':
      return line('SURVIVED', '', '', String(seed), name);
    case 'broken':
    case 'gone':
      return `${line(outcome.kind.toUpperCase(), '', '', String(seed), name)}\n    ${outcome.why}`;
  }
}

/** What the simulation said of a bug that it found, in one line. */
export function sentenceOf({ outcome }: Row): string | undefined {
  return outcome.kind === 'found' ? outcome.sentence.slice(0, SENTENCE_LENGTH_MAX) : undefined;
}

/** How many were found, how fast; and which were not. */
export function tally(rows: readonly Row[]): readonly string[] {
  const found = rows.flatMap(({ outcome }) => (outcome.kind === 'found' ? [outcome.afterMs] : []));
  const sorted = found.toSorted((a, b) => a - b);
  const seconds = (ms = 0) => `${(ms / 1000).toFixed(1)} s`;
  const speed =
    sorted.length === 0
      ? ''
      : `, half of them within ${seconds(sorted[sorted.length >> 1])}, the last after ${seconds(sorted.at(-1))}`;
  const missed = rows.filter(({ outcome }) => outcome.kind !== 'found');
  return [
    `${found.length} of ${rows.length} planted bugs were found${speed}.`,
    ...missed.flatMap(({ name, needs, outcome }) => [
      `Not found (${outcome.kind}): ${name}`,
      `    It takes: ${needs}`,
    ]),
  ];
}

function line(status: string, check: string, after: string, seed: string, name: string): string {
  return [
    status.padEnd(WIDTHS.status),
    check.padEnd(WIDTHS.check),
    after.padStart(WIDTHS.seconds),
    seed.padStart(WIDTHS.seed),
    ` ${name}`,
  ].join(' ');
}
