import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { seedOfRun } from '../support/load-random.ts';
import { coreMs } from './core-time.ts';
import { describeFinding, describeTally, keepFinding, REGRESSIONS, timelineOf } from './report.ts';
import { runScenario } from './run.ts';
import type { Scenario } from './scenario/scenario.ts';
import { newTally, scenarioOf, search } from './search.ts';
import { shrink } from './shrink.ts';

/**
 * The whole broker over simulated tables, in virtual time: several processes, clients with random steps,
 * faults of processes and network, and a check of every promise. `DYNABUS_SEED` repeats a run;
 * `DYNABUS_SIMULATION_SECONDS` sets its length. A failing scenario is shrunk, printed, and saved as a file
 * in `regressions`.
 */

const SEED = seedOfRun();
/** Of a core. */
const SECONDS = Number(process.env['DYNABUS_SIMULATION_SECONDS'] || (isMore() ? 60 : 3));
/** How many times as long the search may take until all of these were simulated: a scenario draws only some kinds. */
const LONGER = 5;
const SIMULATED = ['send done', 'receive done', 'settle done', 'transact done', 'accept done'];
/** How many scenarios run twice. */
const SAME = isMore() ? 5 : 2;
const SHRINK_MS = 30_000;
const LINES_SHOWN = 300;

test(`the broker keeps every promise in ${SECONDS} s of simulation (seed ${SEED})`, async (t) => {
  const began = coreMs();
  const tally = newTally();
  const isSimulated = (kind: string) => (tally.kinds.get(kind) ?? 0) > 0;
  const finding = await search({
    seed: SEED,
    tally,
    isOver: () => {
      const seconds = (coreMs() - began) / 1000;
      return seconds > (SIMULATED.every(isSimulated) ? SECONDS : LONGER * SECONDS);
    },
  });
  t.diagnostic(describeTally(tally, coreMs() - began));
  if (finding !== undefined) {
    const until = performance.now() + SHRINK_MS;
    const small = await shrink(finding, () => performance.now() > until);
    assert.fail(
      `${await describeFinding(small, LINES_SHOWN)}\n\nSeed ${finding.scenario.seed}, kept as ${keepFinding(small)}`,
    );
  }
  for (const kind of SIMULATED) assert.ok(isSimulated(kind), `never simulated: ${kind}`);
});

test('a scenario gives the same history, line by line, each time it runs', async () => {
  for (let i = 0; i < SAME; i++) {
    const scenario = scenarioOf(`${SEED}:same:${i}`);
    assert.deepEqual(await timelineOf(scenario), await timelineOf(scenario));
  }
});

for (const file of readdirSync(REGRESSIONS).filter((name) => name.endsWith('.json'))) {
  test(`a scenario that failed in the past passes: ${file}`, async () => {
    const text = readFileSync(join(REGRESSIONS, file), 'utf8');
    const { scenario } = JSON.parse(text) as { readonly scenario: Scenario };
    const { violations } = await runScenario(scenario);
    assert.deepEqual(
      violations.map(({ check, text: sentence }) => `${check}: ${sentence}`),
      [],
    );
  });
}
