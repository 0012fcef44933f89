import { NO_FAULTS } from './machines/network.ts';
import { type Run, runScenario } from './run.ts';
import type { Scenario } from './scenario/scenario.ts';
import type { Finding } from './search.ts';

/** Seeds for each smaller scenario: leaving out a step changes all later latencies. */
const SEEDS_EACH = 3;

/**
 * Leaves out all parts of a failing scenario that the same violation does not need: steps, faults of
 * processes, kinds of network faults. Ends when nothing more can be left out, or when `isOver`.
 */
export async function shrink(finding: Finding, isOver: () => boolean): Promise<Finding> {
  const shrinker = new Shrinker(finding, isOver);
  await shrinker.leaveOut(
    (scenario) => scenario.steps.length,
    (scenario, keep) => ({ ...scenario, steps: scenario.steps.filter((_, i) => keep(i)) }),
  );
  await shrinker.leaveOut(
    (scenario) => scenario.faults.length,
    (scenario, keep) => ({ ...scenario, faults: scenario.faults.filter((_, i) => keep(i)) }),
  );
  for (const fault of Object.keys(NO_FAULTS)) {
    await shrinker.attempt(({ network, ...rest }) => ({
      ...rest,
      network: { ...network, [fault]: 0 },
    }));
  }
  await shrinker.attempt((scenario) => ({ ...scenario, staleMsMax: 0 }));
  await shrinker.leaveOut(
    (scenario) => scenario.steps.length,
    (scenario, keep) => ({ ...scenario, steps: scenario.steps.filter((_, i) => keep(i)) }),
  );
  return shrinker.best;
}

class Shrinker {
  best: Finding;
  readonly #isOver: () => boolean;

  constructor(best: Finding, isOver: () => boolean) {
    this.best = best;
    this.#isOver = isOver;
  }

  /** Leaves out parts of a list: first halves, finally single elements. */
  async leaveOut(
    lengthOf: (scenario: Scenario) => number,
    without: (scenario: Scenario, keep: (place: number) => boolean) => Scenario,
  ): Promise<void> {
    for (let size = lengthOf(this.best.scenario); size >= 1; size = Math.floor(size / 2)) {
      for (let start = lengthOf(this.best.scenario) - size; start > -size; start -= size) {
        const from = Math.max(0, start);
        const to = start + size;
        await this.attempt((scenario) => without(scenario, (place) => place < from || place >= to));
      }
    }
  }

  /** Keeps a smaller scenario if it has the same violation. */
  async attempt(change: (scenario: Scenario) => Scenario): Promise<void> {
    const smaller = change(this.best.scenario);
    if (JSON.stringify(smaller) === JSON.stringify(this.best.scenario)) return;
    for (let i = 0; i < SEEDS_EACH && !this.#isOver(); i++) {
      const scenario =
        i === 0 ? smaller : { ...smaller, seed: `${smaller.seed.slice(0, 40)}'${i}` };
      const run = await runOrNothing(scenario);
      if (run === undefined || !isSame(run, this.best.run)) continue;
      this.best = { scenario, run };
      return;
    }
  }
}

function isSame(run: Run, other: Run): boolean {
  const [first] = other.violations;
  return run.violations.some(({ check }) => check === first?.check);
}

/** Returns undefined if the scenario cannot run, because a step needs one that was left out. */
async function runOrNothing(scenario: Scenario): Promise<Run | undefined> {
  try {
    return await runScenario(scenario);
  } catch {
    return undefined;
  }
}
