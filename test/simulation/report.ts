import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { START } from './engine/timeline.ts';
import { ALL_STOPPED, EVERYWHERE, runScenario } from './run.ts';
import type { Scenario } from './scenario/scenario.ts';
import type { Finding, Tally } from './search.ts';

const COLUMN = 44;
export const REGRESSIONS = join('test', 'simulation', 'regressions');

/**
 * A failing scenario as people read it: what was broken, then who did what when, a column for each process.
 * Of more lines than `linesMax` the middle is left out.
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

/** So many lines are shown of what comes once all clients have stopped: mostly the sweep, for days. */
const LINES_AFTER = 20;

function shortened(lines: readonly string[], max: number): readonly string[] {
  if (lines.length <= max) return lines;
  const half = Math.ceil(max / 2);
  return [...lines.slice(0, half), '   ...', ...lines.slice(lines.length - half)];
}

/** Everything that happens in a scenario, one line each. */
export async function timelineOf(scenario: Scenario): Promise<readonly string[]> {
  const lines: string[] = [];
  const columns = scenario.processes.map(({ name }) => name);
  await runScenario(scenario, (where, line, at) => {
    if (where === EVERYWHERE) {
      lines.push(`${String(at - START).padStart(9)}  ${line}`);
      return;
    }
    // Clients name the process that they speak to.
    const [, named = where, text = line] = /^(p\d+) (.*)$/s.exec(line) ?? [];
    const own = columns.includes(where) ? where : named;
    if (!columns.includes(own)) columns.push(own);
    const said = own === where ? line : `${where} ${text}`;
    const indent = ' '.repeat(COLUMN * columns.indexOf(own));
    lines.push(`${String(at - START).padStart(9)}  ${indent}${said}`);
  });
  return [`${' '.repeat(11)}${columns.map((name) => name.padEnd(COLUMN)).join('')}`, ...lines];
}

/** Keeps a failing scenario as a file, which the tests run from now on; returns its path. */
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

/** How much was simulated, for people. */
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
