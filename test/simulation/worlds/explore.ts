import { meet } from './footprint.ts';
import type { Event, Fault, Pending, Way } from './happenings.ts';
import type { Stage } from './stage.ts';

/** A choice: which of the things that can happen does, and how. */
export interface Choice {
  readonly number: number;
  readonly way: Way;
}

/** One run of a world, from the beginning. */
export interface Run {
  readonly stage: Stage;
  /** Where nothing is left to choose: lets a timer ring. False = the run is over. */
  goOn(): Promise<boolean>;
}

export interface ExploreSettings {
  /** What can go wrong, once in a run. */
  readonly faults: readonly Fault[];
  readonly runsMax: number;
  readonly isOver?: () => boolean;
  /** Without it every order is run. */
  readonly reduces: boolean;
}

export interface Explored {
  /** Orders that were run to their end. */
  readonly runs: number;
  /** Runs that were given up since all that they could still show had been seen. */
  readonly givenUp: number;
  /** Instants at which there was something to choose. */
  readonly states: number;
  readonly isComplete: boolean;
}

/** An instant at which something was chosen. */
interface Node {
  readonly enabled: readonly Pending[];
  /** What need not be chosen, since all that can follow from it was seen. */
  readonly asleep: Map<number, Pending>;
  /** What is to be chosen at some time. */
  readonly wanted: Set<number>;
  readonly mayFail: boolean;
  /** The place in the run of what was chosen. */
  readonly place: number;
  chosen: Choice;
  waysLeft: Way[];
}

/**
 * Runs a world in every order of what it asks of the tables; of orders that differ only by requests whose order
 * cannot matter, in one (dynamic partial-order reduction with sleep sets). `start` begins a run from the beginning,
 * and does the same thing each time; `over` is told of each run that has come to its end, with its choices.
 */
export async function explore<Begun extends Run>(
  start: () => Promise<Begun>,
  settings: ExploreSettings,
  over: (run: Begun, choices: readonly Choice[]) => Promise<boolean>,
): Promise<Explored> {
  const path: Node[] = [];
  const counts = { runs: 0, givenUp: 0, states: 0 };
  let isComplete = false;
  while (counts.runs + counts.givenUp < settings.runsMax && settings.isOver?.() !== true) {
    const run = await start();
    const known = path.length;
    for (const { chosen } of path) {
      await settle(run);
      await run.stage.happen(chosen.number, chosen.way);
    }
    const isWhole = await extend(run, path, settings);
    counts.states += path.length - known;
    if (settings.reduces) noteRaces(run.stage.events, path, Math.max(0, known - 1));
    if (!isWhole) counts.givenUp++;
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
 * What happens as soon as it can where nothing else is chosen: operations begin late, so that as many as possible
 * come after those that others have heard of, and pauses end when nothing else is left.
 */
function isSoon({ isStart, isPause }: Pending): boolean {
  return isStart !== true && isPause !== true;
}

/** Replays choices; what they do not say happens as soon as it can, and operations begin late. */
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

/** Has timers ring until there is something to choose. False = the run is over. */
async function settle(run: Run): Promise<boolean> {
  while (run.stage.pending.size === 0) if (!(await run.goOn())) return false;
  return true;
}

/** Goes on to the end of a run. False = it was given up. */
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

/** Takes the last choice that can be made otherwise. False = there is none left. */
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

/** Whether the order of two steps, either of which could come first, can matter. */
function areDependent(a: Step, b: Step): boolean {
  if (a.kind !== 'request' || b.kind !== 'request') return true;
  if (a.process === b.process && (a.memory !== undefined || ends(a) || ends(b))) return true;
  return meet(a.footprint, b.footprint);
}

function ends({ way }: Step): boolean {
  return way === 'crash' || way === 'crashBefore';
}

/**
 * Finds each pair of steps that could have come the other way round, and has the other order run. `from` = the
 * first choice that is new.
 */
function noteRaces(events: readonly Event[], path: readonly Node[], from: number): void {
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
      if (isRace) wantOtherOrder(events, { i, j, before: [...before, known] }, node);
    }
    before.push(known);
  }
}

/** Has something chosen at a node by which the later of two steps comes first. */
function wantOtherOrder(
  events: readonly Event[],
  { i, j, before }: { readonly i: number; readonly j: number; readonly before: readonly bigint[] },
  node: Node,
): void {
  const isBefore = (a: number, b: number) => ((before[b] ?? 0n) & (1n << BigInt(a))) !== 0n;
  // What came after the earlier step and does not need it, and then the later step.
  const others: number[] = [];
  for (let k = i + 1; k < j; k++) if (!isBefore(i, k)) others.push(k);
  others.push(j);
  const firsts = others.filter((k) => !others.some((other) => other < k && isBefore(other, k)));
  const numbers = firsts.map((k) => events[k]?.number ?? -1);
  if (numbers.some((number) => node.wanted.has(number))) return;
  const [first] = numbers;
  if (first !== undefined) node.wanted.add(first);
}
