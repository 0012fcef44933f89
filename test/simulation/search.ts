import type { OperationRecord } from './clients/record.ts';
import { Random } from './machines/random.ts';
import { type Run, runScenario } from './run.ts';
import { drawScenario } from './scenario/draw.ts';
import type { Scenario } from './scenario/scenario.ts';

/** How much was simulated. */
export interface Tally {
  scenarios: number;
  operations: number;
  events: number;
  /** Operations by kind and outcome. */
  readonly kinds: Map<string, number>;
  /** Requests by fault, and faults of processes by kind. */
  readonly faults: Map<string, number>;
}

/** A scenario with a violation. */
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
  /** Called before each scenario, so that the seed of one that never ends is known. */
  readonly begin?: (seed: string) => void;
}

/** Runs scenarios until one has a violation, which it returns, or until `isOver`. */
export async function search(options: SearchOptions): Promise<Finding | undefined> {
  const { stackTraceLimit } = Error;
  // The stack traces of refusals are not used, and would take a tenth of the time.
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

function count(tally: Tally, { faults }: Scenario, { records, events, requestFaults }: Run): void {
  tally.scenarios++;
  tally.operations += records.length;
  tally.events += events;
  for (const record of records) add(tally.kinds, nameOf(record), 1);
  for (const [fault, times] of requestFaults) add(tally.faults, fault, times);
  for (const { kind } of faults) add(tally.faults, kind, 1);
}

function nameOf({ action, outcome, code }: OperationRecord): string {
  return [action.kind, outcome, ...(code === undefined ? [] : [code])].join(' ');
}

function add(counts: Map<string, number>, name: string, more: number): void {
  counts.set(name, (counts.get(name) ?? 0) + more);
}
