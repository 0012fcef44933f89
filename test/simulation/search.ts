import type { OperationRecord } from './clients/record.ts';
import { Random } from './engine/random.ts';
import { type Run, runScenario } from './run.ts';
import { drawScenario } from './scenario/draw.ts';
import type { Scenario } from './scenario/scenario.ts';

/** How much was simulated. */
export interface Tally {
  scenarios: number;
  operations: number;
  events: number;
  /** Operations by kind and what was heard. */
  readonly kinds: Map<string, number>;
  /** Requests that went wrong, by how, and what the machines did. */
  readonly faults: Map<string, number>;
}

/** A scenario in which a promise was not kept. */
export interface Finding {
  readonly scenario: Scenario;
  readonly run: Run;
}

export function newTally(): Tally {
  return { scenarios: 0, operations: 0, events: 0, kinds: new Map(), faults: new Map() };
}

export interface SearchOptions {
  readonly seed: string;
  /** Whether it is time to stop. */
  readonly isOver: () => boolean;
  readonly tally: Tally;
  /** Told of each scenario before it runs, so that one that never ends is known. */
  readonly begin?: (seed: string) => void;
}

/** Runs one scenario after the other, until a promise is not kept. Undefined = all were, until it was over. */
export async function search(options: SearchOptions): Promise<Finding | undefined> {
  const { stackTraceLimit } = Error;
  // Nobody reads where refusals come from: a tenth of the time would go into writing it down.
  Error.stackTraceLimit = 0;
  try {
    return await searchOn(options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function searchOn({
  seed,
  isOver,
  tally,
  begin,
}: SearchOptions): Promise<Finding | undefined> {
  for (let number = 0; !isOver(); number++) {
    const own = `${seed}-${number}`;
    begin?.(own);
    const scenario = scenarioOf(own);
    const run = await runScenario(scenario);
    count(tally, scenario, run);
    if (run.violations.length > 0) return { scenario, run };
  }
  return undefined;
}

/** The scenario of a seed. */
export function scenarioOf(seed: string): Scenario {
  return drawScenario(seed, new Random(`${seed}/scenario`));
}

function count(tally: Tally, { faults }: Scenario, { records, events, fates }: Run): void {
  tally.scenarios++;
  tally.operations += records.length;
  tally.events += events;
  for (const record of records) add(tally.kinds, nameOf(record), 1);
  for (const [fate, times] of fates) add(tally.faults, fate, times);
  for (const { kind } of faults) add(tally.faults, kind, 1);
}

function nameOf({ action, heard, code }: OperationRecord): string {
  return [action.kind, heard, ...(code === undefined ? [] : [code])].join(' ');
}

function add(counts: Map<string, number>, name: string, more: number): void {
  counts.set(name, (counts.get(name) ?? 0) + more);
}
