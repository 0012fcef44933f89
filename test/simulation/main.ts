import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describeFinding, describeTally, keepFinding } from './report.ts';
import { runScenario } from './run.ts';
import type { Scenario } from './scenario/scenario.ts';
import { type Finding, newTally, scenarioOf, search } from './search.ts';
import { shrink } from './shrink.ts';
import { exploreWorlds } from './worlds/explore-worlds.ts';

/**
 * The simulation from the command line. `--seconds` is the time of the search, of which the small worlds
 * get up to a third; `--seed` is its first seed. `--one` runs the scenario of one seed, `--file` a saved one.
 * `--keep` saves a failing scenario as a file; `--shrink` is the number of seconds to make it smaller, and
 * `--lines` the number of lines shown of its history. Exit code 1 = a violation was found.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now()) },
    one: { type: 'string' },
    file: { type: 'string' },
    keep: { type: 'boolean', default: false },
    shrink: { type: 'string', default: '20' },
    lines: { type: 'string', default: '400' },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const given = givenScenario();
  if (given !== undefined) return (await runOne(given)) === undefined ? 0 : 1;
  const began = performance.now();
  const seconds = Number(values.seconds);
  if (await isWorldBroken(seconds / 3)) return 1;
  const left = seconds - (performance.now() - began) / 1000;
  return (await searchFor(left)) === undefined ? 0 : 1;
}

/** Explores the small worlds; prints the first violation and returns whether there was one. */
async function isWorldBroken(secondsMax: number): Promise<boolean> {
  const began = performance.now();
  const { violations } = await exploreWorlds({ secondsMax, runsTimes: 4, stopsAtFirst: true });
  const [first] = violations;
  if (first === undefined) return false;
  const [name = '', ...lines] = first.split('\n');
  console.log(`Found after ${((performance.now() - began) / 1000).toFixed(1)} s in ${name}`);
  console.log([`VIOLATION small world: ${lines[0]?.trim()}`, ...lines.slice(1)].join('\n'));
  return true;
}

function givenScenario(): Scenario | undefined {
  if (values.one !== undefined) return scenarioOf(values.one);
  if (values.file === undefined) return undefined;
  return (JSON.parse(readFileSync(values.file, 'utf8')) as { scenario: Scenario }).scenario;
}

async function runOne(scenario: Scenario): Promise<Finding | undefined> {
  const run = await runScenario(scenario);
  if (run.violations.length === 0) {
    console.log('Every promise was kept.');
    return undefined;
  }
  return await show({ scenario, run });
}

async function searchFor(seconds: number): Promise<Finding | undefined> {
  const began = performance.now();
  const tally = newTally();
  const ms = () => performance.now() - began;
  let last = '';
  const finding = await search({
    seed: values.seed,
    tally,
    isOver: () => ms() > 1000 * seconds,
    begin: (seed) => {
      last = seed;
    },
  }).catch((error: unknown) => {
    console.error(`The scenario ${last} could not be run.`);
    throw error;
  });
  if (finding !== undefined) {
    console.log(`Found after ${(ms() / 1000).toFixed(1)} s in ${finding.scenario.seed}`);
    await show(finding);
  }
  console.log(describeTally(tally, ms()));
  return finding;
}

async function show(finding: Finding): Promise<Finding> {
  const until = performance.now() + 1000 * Number(values.shrink);
  const small = await shrink(finding, () => performance.now() > until);
  console.log(await describeFinding(small, Number(values.lines)));
  if (values.keep) console.log(`Kept as ${keepFinding(small)}`);
  return small;
}
