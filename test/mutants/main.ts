import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { MUTANTS } from './all.ts';
import { bundleWith, OUTPUT } from './bundle-mutant.ts';
import { hunt } from './hunt.ts';
import type { Mutant } from './mutant.ts';
import { AnchorGone, type Planted, plant, productSources } from './plant.ts';
import { HEADER, type Row, sentenceOf, tally, textOf } from './report.ts';

/**
 * `npm run mutants`: plants bugs in the product, one at a time, and has the simulation look for each of them.
 * Arguments keep the bugs whose name or room holds any of them: `npm run mutants -- session broker`.
 * Ends with 1 where one is not found, or where the simulation finds something though nothing is planted.
 */

const HELP = `npm run mutants -- [options] [words]
  words          only bugs whose name or room holds one of them
  --check        only see whether all bugs can be planted
  --seconds N    how long to look for each (60)
  --seed S       of all runs; a fresh one for each run if absent
  --jobs N       how many at a time (2)
  --entry PATH   the simulation (test/simulation/main.ts)
  --show         print what the simulation prints`;

const SEED_MAX = 2 ** 31;
const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    entry: { type: 'string', default: 'test/simulation/main.ts' },
    show: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(HELP);
else process.exitCode = options.check ? checkAll(chosen()) : await huntAll(chosen());

/** The bugs that the arguments name. */
function chosen(): readonly Mutant[] {
  const wanted = words.map((word) => word.toLowerCase());
  return MUTANTS.filter(
    ({ name, room }) =>
      wanted.length === 0 ||
      wanted.some((word) => room === word || name.toLowerCase().includes(word)),
  );
}

/** Returns the exit code. */
function checkAll(mutants: readonly Mutant[]): number {
  const sources = productSources();
  const failures = mutants.flatMap((mutant) => {
    const planted = planting(() => plant(sources, mutant));
    return planted instanceof AnchorGone ? [planted.message] : [];
  });
  for (const failure of failures) console.error(failure);
  console.log(`${mutants.length - failures.length} of ${mutants.length} bugs can be planted.`);
  return failures.length === 0 ? 0 : 1;
}

/** Returns the exit code. */
async function huntAll(mutants: readonly Mutant[]): Promise<number> {
  if (mutants.length === 0) {
    console.error(`No planted bug has ${words.join(' or ')} in its name.`);
    return 1;
  }
  mkdirSync(OUTPUT, { recursive: true });
  const sources = productSources();
  const rows: Row[] = [];
  console.log(HEADER);
  // Without a bug nothing may be found: otherwise a find would prove nothing.
  const isWhole = words.length === 0;
  const unplanted = isWhole ? [huntUnplanted] : [];
  const hunts = mutants.map((mutant) => async () => {
    const row = await huntOne(mutant, () => plant(sources, mutant));
    rows.push(row);
    show(row);
    return true;
  });
  const outcomes = await inTurn([...unplanted, ...hunts], Number(options.jobs));
  rmSync(OUTPUT, { recursive: true, force: true });
  for (const line of tally(inOrder(rows, mutants))) console.log(line);
  const isSound = !outcomes.includes(false);
  if (!isSound) console.error('The simulation does not pass though nothing is planted.');
  return isSound && rows.every(({ outcome }) => outcome.kind === 'found') ? 0 : 1;
}

/** Whether the simulation finds nothing in the product as it is. */
async function huntUnplanted(): Promise<boolean> {
  const { seed, outcome } = await huntOne({ name: 'nothing', needs: '' }, () => new Map());
  const isSound = outcome.kind === 'survived';
  const said = isSound ? 'found nothing' : JSON.stringify(outcome);
  console.log(`Nothing planted, seed ${seed}: ${said}`);
  return isSound;
}

async function huntOne(
  { name, needs }: Pick<Mutant, 'name' | 'needs'>,
  plantIt: () => Planted,
): Promise<Row> {
  const seed = options.seed === undefined ? randomInt(SEED_MAX) : Number(options.seed);
  const planted = planting(plantIt);
  if (planted instanceof AnchorGone) {
    return { name, needs, seed, outcome: { kind: 'gone', why: planted.message } };
  }
  try {
    const bundle = await bundleWith(options.entry, planted, name.replaceAll(/\W+/g, '-'));
    const onLine = options.show ? { onLine: (line: string) => console.log(line) } : {};
    const outcome = await hunt(bundle, { seconds: Number(options.seconds), seed, ...onLine });
    return { name, needs, seed, outcome };
  } catch (error) {
    return { name, needs, seed, outcome: { kind: 'broken', why: String(error) } };
  }
}

function planting(plantIt: () => Planted): Planted | AnchorGone {
  try {
    return plantIt();
  } catch (error) {
    if (error instanceof AnchorGone) return error;
    throw error;
  }
}

function show(row: Row): void {
  console.log(textOf(row));
  const sentence = sentenceOf(row);
  if (sentence !== undefined) console.log(`    ${sentence}`);
}

function inOrder(rows: readonly Row[], mutants: readonly Mutant[]): readonly Row[] {
  return mutants.flatMap(({ name }) => rows.filter((row) => row.name === name));
}

/** Does work, so many pieces at a time; returns what each came to, in order. */
async function inTurn<Value>(
  work: readonly (() => Promise<Value>)[],
  width: number,
): Promise<readonly Value[]> {
  const outcomes: Value[] = [];
  const rest = work.entries();
  const worker = async () => {
    for (const [i, piece] of rest) outcomes[i] = await piece();
  };
  await Promise.all(Array.from({ length: Math.max(1, width) }, worker));
  return outcomes;
}
