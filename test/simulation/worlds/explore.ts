import type { Event, Fault, Pending, Way } from './events.ts';
import { areInConflict } from './footprint.ts';
import type { Stage } from './stage.ts';

/** A choice: which pending event happens, and how. */
export interface Choice {
  readonly number: number;
  readonly way: Way;
}

/** One run of a world, from its start. */
export interface Run {
  readonly stage: Stage;
  /** Lets a timer ring when no event is pending. Returns false if the run is over. */
  goOn(): Promise<boolean>;
}

export interface ExploreSettings {
  /** The possible faults, of which a run has at most one. */
  readonly faults: readonly Fault[];
  readonly runsMax: number;
  readonly isOver?: () => boolean;
  /** Whether to run only one of several equivalent orders. */
  readonly reduces: boolean;
}

export interface Explored {
  /** The orders that were run to their end. */
  readonly runs: number;
  /** The runs that were abandoned because everything that could follow had been explored. */
  readonly abandoned: number;
  /** The instants with a choice. */
  readonly states: number;
  readonly isComplete: boolean;
}

/** An instant with a choice. */
interface Node {
  readonly enabled: readonly Pending[];
  /** The sleep set: events that need not be chosen, because all that can follow from them was explored. */
  readonly asleep: Map<number, Pending>;
  /** The backtrack set: the events to choose here in some run. */
  readonly wanted: Set<number>;
  readonly mayFail: boolean;
  /** The index of the chosen event in the run. */
  readonly place: number;
  chosen: Choice;
  waysLeft: Way[];
}

/**
 * Runs a world in every order of its requests to the tables, but in only one of the orders that differ by
 * independent requests (dynamic partial-order reduction with sleep sets). `start` starts a run, always in the
 * same state; `over` is called with each run at its end and its choices, and returns whether to go on.
 */
export async function explore<Begun extends Run>(
  start: () => Promise<Begun>,
  settings: ExploreSettings,
  over: (run: Begun, choices: readonly Choice[]) => Promise<boolean>,
): Promise<Explored> {
  const path: Node[] = [];
  const counts = { runs: 0, abandoned: 0, states: 0 };
  let isComplete = false;
  while (counts.runs + counts.abandoned < settings.runsMax && settings.isOver?.() !== true) {
    const run = await start();
    const known = path.length;
    for (const { chosen } of path) {
      await settle(run);
      await run.stage.happen(chosen.number, chosen.way);
    }
    const isWhole = await extend(run, path, settings);
    counts.states += path.length - known;
    if (settings.reduces) addRaces(run.stage.events, path, Math.max(0, known - 1));
    if (!isWhole) counts.abandoned++;
    else {
      counts.runs++;
      const choices = path.map(({ chosen }) => chosen);
      if (!(await over(run, choices))) break;
    }
    if (!backtrack(path, settings)) {
      isComplete = true;
      break;
    }
  }
  return { ...counts, isComplete };
}

/**
 * Whether an event happens as soon as it can by default. Operations begin late, so that as many as possible
 * begin after the answers of others, and pauses end when no other event is left.
 */
function isSoon({ isStart, isPause }: Pending): boolean {
  return isStart !== true && isPause !== true;
}

/** Replays choices, and then makes the default choices of `isSoon`. */
export async function replay<Begun extends Run>(
  start: () => Promise<Begun>,
  choices: readonly Choice[],
): Promise<Begun> {
  const run = await start();
  const left = [...choices];
  while (await settle(run)) {
    const pending = [...run.stage.pending.values()];
    const first = pending.find(isSoon) ?? pending[0];
    const { number, way } = left.shift() ?? { number: first?.number ?? 0, way: 'plain' };
    await run.stage.happen(number, way);
  }
  return run;
}

/** Lets timers ring until there is a choice. Returns false if the run is over. */
async function settle(run: Run): Promise<boolean> {
  while (run.stage.pending.size === 0) if (!(await run.goOn())) return false;
  return true;
}

/** Continues a run to its end with default choices. Returns false if it was abandoned. */
async function extend(run: Run, path: Node[], settings: ExploreSettings): Promise<boolean> {
  const { stage } = run;
  while (await settle(run)) {
    const last = path.at(-1);
    const event = last && stage.events[last.place];
    const enabled = [...stage.pending.values()];
    const asleep = new Map<number, Pending>();
    if (settings.reduces && last !== undefined && event !== undefined) {
      for (const [number, one] of last.asleep) {
        if (number !== event.number && !areDependent(event, one)) asleep.set(number, one);
      }
    }
    const awake = enabled.filter(({ number }) => !asleep.has(number));
    const first = awake.find(isSoon) ?? awake[0];
    if (first === undefined) return false;
    const mayFail = !path.some(({ chosen }) => chosen.way !== 'plain');
    path.push({
      enabled,
      asleep,
      wanted: new Set(settings.reduces ? [first.number] : enabled.map(({ number }) => number)),
      mayFail,
      place: stage.events.length,
      ...choose(first, mayFail, settings),
    });
    await stage.happen(first.number, 'plain');
  }
  return true;
}

function choose({ number, isWrite }: Pending, mayFail: boolean, { faults }: ExploreSettings) {
  const chosen: Choice = { number, way: 'plain' };
  return { chosen, waysLeft: mayFail && isWrite ? [...faults] : [] };
}

/** Changes the last choice that has an unexplored alternative. Returns false if there is none. */
function backtrack(path: Node[], settings: ExploreSettings): boolean {
  for (let node = path.at(-1); node !== undefined; path.pop(), node = path.at(-1)) {
    const { enabled, asleep, wanted, chosen, mayFail } = node;
    const way = node.waysLeft.shift();
    if (way !== undefined) {
      node.chosen = { ...chosen, way };
      return true;
    }
    const done = enabled.find(({ number }) => number === chosen.number);
    if (done !== undefined) asleep.set(done.number, done);
    const next = enabled.find(({ number }) => wanted.has(number) && !asleep.has(number));
    if (next !== undefined) {
      Object.assign(node, choose(next, mayFail, settings));
      return true;
    }
  }
  return false;
}

type Step = Pick<Event | Pending, 'kind' | 'process' | 'footprint' | 'memory'> & {
  readonly way?: Way;
};

/** Whether the order of two steps can matter. */
function areDependent(a: Step, b: Step): boolean {
  if (a.kind !== 'request' || b.kind !== 'request') return true;
  if (a.process === b.process && (a.memory !== undefined || ends(a) || ends(b))) return true;
  return areInConflict(a.footprint, b.footprint);
}

function ends({ way }: Step): boolean {
  return way === 'crash' || way === 'crashBefore';
}

/**
 * Finds each pair of dependent steps that could have happened in the other order, and adds that order to the
 * backtrack sets. `from` = the first new choice.
 */
function addRaces(events: readonly Event[], path: readonly Node[], from: number): void {
  const nodes = new Map(path.map((node) => [node.place, node]));
  const before: bigint[] = [];
  const firstNew = path[from]?.place ?? 0;
  for (const [j, later] of events.entries()) {
    let known = 0n;
    for (let i = j - 1; i >= 0; i--) {
      const bit = 1n << BigInt(i);
      if ((known & bit) !== 0n) continue;
      const earlier = events[i] as Event;
      const isCause = i === later.cause;
      if (!isCause && !areDependent(earlier, later)) continue;
      known |= bit | (before[i] ?? 0n);
      const node = nodes.get(i);
      const isRace = !isCause && j >= firstNew && later.kind !== 'timer' && node !== undefined;
      if (isRace) addOtherOrder(events, { i, j, before: [...before, known] }, node);
    }
    before.push(known);
  }
}

/** Adds a choice to a node's backtrack set that lets the later of two steps happen first. */
function addOtherOrder(
  events: readonly Event[],
  { i, j, before }: { readonly i: number; readonly j: number; readonly before: readonly bigint[] },
  node: Node,
): void {
  const isBefore = (a: number, b: number) => ((before[b] ?? 0n) & (1n << BigInt(a))) !== 0n;
  // The steps after the earlier one that do not depend on it, and the later step.
  const others: number[] = [];
  for (let k = i + 1; k < j; k++) if (!isBefore(i, k)) others.push(k);
  others.push(j);
  const firsts = others.filter((k) => !others.some((other) => other < k && isBefore(other, k)));
  const numbers = firsts.map((k) => events[k]?.number ?? -1);
  if (numbers.some((number) => node.wanted.has(number))) return;
  const [first] = numbers;
  if (first !== undefined) node.wanted.add(first);
}
