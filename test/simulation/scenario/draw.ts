import { LEASE_MS } from '../../../shared/app/leases.ts';
import { type NetworkFaults, NO_FAULTS } from '../machines/network.ts';
import type { ProcessSpec } from '../machines/process.ts';
import type { Random } from '../machines/random.ts';
import { drawEntities } from './draw-entities.ts';
import { drawSteps } from './draw-steps.ts';
import type { Fault, Scenario } from './scenario.ts';

/** The largest offset of a clock from the true time, ms; the promises hold up to it. */
export const OFFSET_MS_MAX = 1000;

/** Draws a scenario; the same random numbers give the same scenario. */
export function drawScenario(seed: string, random: Random): Scenario {
  const processes = drawProcesses(random);
  const entities = drawEntities(random);
  const durationMs = random.pick([10_000, 10_000, 40_000, 120_000, 7_200_000]);
  const steps = drawSteps(random, { processes, entities, durationMs });
  return {
    seed,
    processes,
    entities,
    steps,
    faults: drawFaults(random, processes, durationMs),
    network: drawNetwork(random),
    staleMsMax: random.pick([0, 300, 1000]),
  };
}

function drawProcesses(random: Random): readonly ProcessSpec[] {
  const isLocal = random.chance(0.15);
  const areApart = random.chance(0.3);
  const count = random.between(isLocal ? 1 : 2, 5);
  // The tiers differ in their number of partitions.
  const tier = random.pick(['Standard', 'Premium'] as const);
  return Array.from({ length: count }, (_, i) => ({
    name: `p${i}`,
    kind: isLocal || random.chance(0.4) ? 'server' : 'function',
    aheadMs: areApart ? random.between(-OFFSET_MS_MAX, OFFSET_MS_MAX) / 2 : 0,
    standsStill: random.chance(0.5),
    leaseMs: isLocal ? LEASE_MS.local : LEASE_MS.deployed,
    tier,
  }));
}

function drawFaults(
  random: Random,
  processes: readonly ProcessSpec[],
  durationMs: number,
): readonly Fault[] {
  const count = random.pick([0, 0, 0, 1, 2, 5, 10]);
  const faults = Array.from({ length: count }, (): Fault => {
    const at = random.below(durationMs);
    const process = random.pick(processes).name;
    const kind = random.weighted<Fault['kind']>({ freeze: 5, crash: 3, clock: 1 });
    if (kind === 'freeze')
      return { at, kind, process, ms: random.pick([100, 1000, 3000, 8000, 40_000]) };
    if (kind === 'crash') return { at, kind, process };
    return { at, kind, process, aheadMs: random.between(-OFFSET_MS_MAX, OFFSET_MS_MAX) / 2 };
  });
  return faults.sort((a, b) => a.at - b.at);
}

function drawNetwork(random: Random): NetworkFaults {
  const rate = random.pick([0, 0, 0.005, 0.02, 0.05]);
  const lateTransactions = random.chance(0.15) ? 0.8 : 0;
  if (rate === 0) return { ...NO_FAULTS, slow: random.pick([0, 0.1]), lateTransactions };
  const often = () => random.pick([0, rate / 2, rate, 3 * rate]);
  return {
    requestLost: often() / 2,
    answerLost: often(),
    late: often() / 2,
    serverError: often() / 4,
    throttled: often(),
    slow: often(),
    lateTransactions,
  };
}
