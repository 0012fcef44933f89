import { coreMs } from '../core-time.ts';
import { catalogue } from './catalogue/catalogue.ts';
import type { Ended } from './ending.ts';
import { type Choice, explore, replay } from './explore.ts';
import { choicesOf, choicesText, timeline } from './timeline.ts';
import { PreparedWorld, type World, type WorldRun } from './world.ts';

/** The most orders that are run of one world. */
const RUNS_MAX = { usual: 3000, search: 200_000 };

export interface ExploreWorldsSettings {
  /** The time for all worlds together, in seconds of a core. */
  readonly secondsMax: number;
  /** Whether to explore the large worlds, too, and all worlds further. */
  readonly isSearch?: boolean;
  /** How many times the limit of its own is run of a world that has one; absent = once. */
  readonly runsTimes?: number;
  /** Whether to stop at the first world with a violation. */
  readonly stopsAtFirst?: boolean;
  /** Explores only worlds whose name contains this text. */
  readonly only?: string | undefined;
}

/** The result of the exploration of a world. */
export interface WorldReport {
  readonly name: string;
  /** The orders that were run to their end, no two of them equivalent. */
  readonly runs: number;
  /** The instants with a choice. */
  readonly states: number;
  /** The number of different outcomes. */
  readonly outcomes: number;
  /** Whether all orders were explored. */
  readonly isComplete: boolean;
  /** The first run with a violation, as a text. */
  readonly violation?: string;
}

/** Explores all small worlds, one after the other, each until its first violation. */
export async function exploreWorlds(settings: ExploreWorldsSettings): Promise<{
  readonly reports: readonly WorldReport[];
  readonly violations: readonly string[];
}> {
  const { secondsMax, isSearch = false, runsTimes = 1, stopsAtFirst = false, only = '' } = settings;
  const until = coreMs() + secondsMax * 1000;
  const chosen = catalogue.filter(
    ({ name, isLarge }) => name.includes(only) && (isSearch || isLarge !== true),
  );
  const reports: WorldReport[] = [];
  for (const [i, world] of chosen.entries()) {
    const now = coreMs();
    // Time that quick worlds do not use is left for later ones.
    const share = now + (4 * Math.max(0, until - now)) / (chosen.length - i + 3);
    const own = world.runsMax === undefined ? RUNS_MAX.usual : runsTimes * world.runsMax;
    const runsMax = isSearch ? RUNS_MAX.search : own;
    const report = await exploreWorld(world, { runsMax, until: share });
    reports.push(report);
    if (stopsAtFirst && report.violation !== undefined) break;
  }
  const violations = reports.flatMap(({ violation }) =>
    violation === undefined ? [] : [violation],
  );
  return { reports, violations };
}

/** Explores one world. With `reduces` = false it also runs equivalent orders. */
export async function exploreWorld(
  world: World,
  settings: { readonly runsMax: number; readonly until?: number; readonly reduces?: boolean },
): Promise<WorldReport & { readonly outcomeTexts: ReadonlySet<string> }> {
  const prepared = await PreparedWorld.prepare(world);
  const outcomes = new Set<string>();
  let violation: string | undefined;
  const { runsMax, until = Number.POSITIVE_INFINITY, reduces = true } = settings;
  const explored = await explore(
    () => prepared.start(),
    { faults: world.faults ?? [], runsMax, reduces, isOver: () => coreMs() > until },
    async (run, choices) => {
      const ended = await run.finish();
      outcomes.add(ended.outcome);
      if (ended.violations.length === 0) return true;
      violation = await describe(prepared, choices, ended);
      return false;
    },
  );
  const { runs, states, isComplete } = explored;
  return {
    name: world.name,
    ...{ runs, states, isComplete },
    outcomes: outcomes.size,
    outcomeTexts: outcomes,
    ...(violation === undefined ? {} : { violation }),
  };
}

/** Runs a world once with the choices that a failure printed; returns the history as a text. */
export async function replayWorld(name: string, choices: string): Promise<string> {
  const world = catalogue.find((one) => one.name === name);
  if (world === undefined) throw new Error(`There is no world '${name}'.`);
  const prepared = await PreparedWorld.prepare(world);
  const run = await replay(() => prepared.start(), choicesOf(choices));
  const ended = await run.finish();
  return [...timeline(run), '', ended.outcome, ...ended.violations].join('\n');
}

/** A failing run as a text, with the shortest list of choices that repeats it. */
async function describe(
  prepared: PreparedWorld,
  choices: readonly Choice[],
  { violations, outcome }: Ended,
): Promise<string> {
  const shortest = await shortened(prepared, choices, violations);
  const run: WorldRun = await replay(() => prepared.start(), shortest);
  return [
    `${prepared.world.name}:`,
    ...violations.map((text) => `  ${text}`),
    ...timeline(run).map((line) => `  ${line}`),
    `  In the end: ${outcome}`,
    `  Repeat: DYNABUS_WORLD='${prepared.world.name}' DYNABUS_CHOICES='${choicesText(shortest)}'`,
  ].join('\n');
}

/** Leaves out choices at the end that a replay makes by default. */
async function shortened(
  prepared: PreparedWorld,
  choices: readonly Choice[],
  violations: readonly string[],
): Promise<readonly Choice[]> {
  let low = 0;
  for (let high = choices.length; low < high; ) {
    const middle = (low + high) >> 1;
    const run = await replay(() => prepared.start(), choices.slice(0, middle));
    const ended = await run.finish();
    if (ended.violations.join() === violations.join()) high = middle;
    else low = middle + 1;
  }
  return choices.slice(0, low);
}
