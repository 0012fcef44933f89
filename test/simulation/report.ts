import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { START } from './machines/timeline.ts';
import { ALL_STOPPED, EVERYWHERE, runScenario } from './run.ts';
import type { Scenario } from './scenario/scenario.ts';
import type { Finding, Tally } from './search.ts';

const COLUMN = 44;
export const REGRESSIONS = join('test', 'simulation', 'regressions');

/**
 * A failing scenario as text: the violations, then its history with a column for each process. If it has more
 * than `linesMax` lines, the middle is left out.
 */
export async function describeFinding(
  { scenario, run }: Finding,
  linesMax: number,
): Promise<string> {
  const [first, ...others] = run.violations;
  const lines = await timelineOf(scenario);
  const last = lines.findIndex((line) => line.endsWith(ALL_STOPPED));
  const stop = last === -1 ? lines.length : last;
  const shown = [
    ...shortened(lines.slice(0, stop), linesMax),
    ...shortened(lines.slice(stop), LINES_AFTER),
  ];
  return [
    `VIOLATION ${first?.check}: ${first?.text}`,
    ...others.slice(0, 5).map(({ check, text }) => `          ${check}: ${text}`),
    '',
    ...scenario.entities.map((entity) => `entity  ${JSON.stringify(entity)}`),
    `network ${JSON.stringify(scenario.network)}`,
    `stale   ${scenario.staleMsMax} ms`,
    ...scenario.processes.map((process) => `process ${JSON.stringify(process)}`),
    '',
    ...shown,
  ].join('\n');
}

/** The lines shown after all clients have stopped, which are mostly days of sweeps. */
const LINES_AFTER = 20;

function shortened(lines: readonly string[], max: number): readonly string[] {
  if (lines.length <= max) return lines;
  const half = Math.ceil(max / 2);
  return [...lines.slice(0, half), '   ...', ...lines.slice(lines.length - half)];
}

/** The history of a scenario, one line for each event. */
export async function timelineOf(scenario: Scenario): Promise<readonly string[]> {
  const lines: string[] = [];
  const columns = scenario.processes.map(({ name }) => name);
  await runScenario(scenario, (where, line, at) => {
    if (where === EVERYWHERE) {
      lines.push(`${String(at - START).padStart(9)}  ${line}`);
      return;
    }
    // Lines of clients begin with the name of the process they call.
    const [, named = where, text = line] = /^(p\d+) (.*)$/s.exec(line) ?? [];
    const own = columns.includes(where) ? where : named;
    if (!columns.includes(own)) columns.push(own);
    const shown = own === where ? line : `${where} ${text}`;
    const indent = ' '.repeat(COLUMN * columns.indexOf(own));
    lines.push(`${String(at - START).padStart(9)}  ${indent}${shown}`);
  });
  return [`${' '.repeat(11)}${columns.map((name) => name.padEnd(COLUMN)).join('')}`, ...lines];
}

/** Saves a failing scenario as a regression file, which the tests run from now on; returns its path. */
export function keepFinding({ scenario, run }: Finding): string {
  const [first] = run.violations;
  const name = `${first?.check ?? 'unknown'}-${scenario.seed}`.replaceAll(/[^a-z0-9-]+/gi, '-');
  const path = join(REGRESSIONS, `${name}.json`);
  mkdirSync(REGRESSIONS, { recursive: true });
  writeFileSync(
    path,
    `${JSON.stringify({ found: `${first?.check}: ${first?.text}`, scenario }, null, 2)}\n`,
  );
  return path;
}

/** A summary of how much was simulated. */
export function describeTally(
  { scenarios, operations, events, kinds, faults }: Tally,
  ms: number,
): string {
  const rate = Math.round((1000 * operations) / ms);
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, times]) => `${name} ${times}`)
      .join(', ');
  return [
    `${operations} operations in ${scenarios} scenarios, ${events} events, ${rate} operations a second`,
    `faults: ${list(faults)}`,
    `operations: ${list(kinds)}`,
  ].join('\n');
}
