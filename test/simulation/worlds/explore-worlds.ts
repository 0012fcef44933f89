import { catalogue } from './catalogue/catalogue.ts';
import type { Ended } from './ending.ts';
import { type Choice, explore, replay } from './explore.ts';
import { choicesOf, choicesText, timeline } from './timeline.ts';
import { PreparedWorld, type World, type WorldRun } from './world.ts';

/** How many orders of one world are run at most. */
const RUNS_MAX = { usual: 3000, search: 200_000 };

export interface ExploreWorldsSettings {
  /** All worlds together, in seconds of a core. */
  readonly secondsMax: number;
  /** Whether large worlds are explored, too, and all of them further. */
  readonly isSearch?: boolean;
  /** Whether to leave the other worlds out once something does not hold in one. */
  readonly stopsAtFirst?: boolean;
  /** Only worlds whose name holds this. */
  readonly only?: string | undefined;
}

/** What the exploration of a world came to. */
export interface WorldReport {
  readonly name: string;
  /** Orders that were run to their end, each different in something that can matter. */
  readonly runs: number;
  /** Instants at which there was something to choose. */
  readonly states: number;
  /** How many different things actors heard, with what was left in the end. */
  readonly outcomes: number;
  /** Whether there is no other order. */
  readonly isComplete: boolean;
  /** The first order in which something does not hold, as a text. */
  readonly violation?: string;
}

/** Explores all small worlds, one after the other, each until something does not hold. */
export async function exploreWorlds(settings: ExploreWorldsSettings): Promise<{
  readonly reports: readonly WorldReport[];
  readonly violations: readonly string[];
}> {
  const { secondsMax, isSearch = false, stopsAtFirst = false, only = '' } = settings;
  const until = coreMs() + secondsMax * 1000;
  const chosen = catalogue.filter(
    ({ name, isLarge }) => name.includes(only) && (isSearch || isLarge !== true),
  );
  const reports: WorldReport[] = [];
  for (const [i, world] of chosen.entries()) {
    const now = coreMs();
    // What quick worlds leave over is for those that come later.
    const share = now + (4 * Math.max(0, until - now)) / (chosen.length - i + 3);
    const runsMax = isSearch ? RUNS_MAX.search : (world.runsMax ?? RUNS_MAX.usual);
    const report = await exploreWorld(world, { runsMax, until: share });
    reports.push(report);
    if (stopsAtFirst && report.violation !== undefined) break;
  }
  const violations = reports.flatMap(({ violation }) =>
    violation === undefined ? [] : [violation],
  );
  return { reports, violations };
}

/** What this process has had of a core, ms: other processes do not slow it down. */
function coreMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Explores one world. `reduces` = false: every order, also of what cannot matter. */
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

/** Runs a world once, by the choices that a failure printed; returns a text of what happened. */
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

/** Leaves out choices from the end that would be made anyway. */
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
