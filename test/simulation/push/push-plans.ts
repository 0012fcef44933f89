import { type NetworkFaults, NO_FAULTS } from '../machines/network.ts';
import { Random } from '../machines/random.ts';
import { CALM, type TargetMood } from './push-target.ts';

/** What a run does; the same plan gives the same run. */
export interface PushPlan {
  readonly seed: string;
  readonly sessions: number;
  readonly partitioned: boolean;
  readonly messages: number;
  /** The share of messages that no call succeeds with. */
  readonly poison: number;
  readonly maxBatch: number;
  readonly maxConcurrency: number;
  readonly batchWindowMs: number;
  readonly timeoutMs: number;
  readonly lockMs: number;
  readonly mood: TargetMood;
  readonly network: NetworkFaults;
  /** The chances of a record of the stream. */
  readonly stream: { readonly lost: number; readonly doubled: number; readonly msMax: number };
  /** How often a worker is killed or frozen, times a minute. */
  readonly faultsPerMinute: number;
  /** Whether another receiver takes messages, and leaves them. */
  readonly otherReceiver: boolean;
  /** How late a message may be done that is no poison, ms; absent = at the end of the run. */
  readonly lateMsMax?: number;
}

/** Nothing goes wrong. */
export function calmPlan(seed: string): PushPlan {
  return {
    seed,
    sessions: 0,
    partitioned: false,
    messages: 60,
    poison: 0.03,
    maxBatch: 10,
    maxConcurrency: 5,
    batchWindowMs: 0,
    timeoutMs: 30_000,
    lockMs: 30_000,
    mood: CALM,
    network: NO_FAULTS,
    stream: { lost: 0, doubled: 0, msMax: 200 },
    faultsPerMinute: 0,
    otherReceiver: false,
  };
}

/** Anything may go wrong, as the seed says. */
export function randomPlan(seed: string): PushPlan {
  const random = new Random(`${seed}/plan`);
  const some = (most: number) => (random.chance(0.5) ? 0 : random.fraction() * most);
  return {
    seed,
    sessions: random.chance(0.5) ? 0 : 1 + random.below(5),
    partitioned: random.chance(0.3),
    messages: 10 + random.below(120),
    poison: 0.03,
    maxBatch: random.pick([1, 2, 10, 100]),
    maxConcurrency: random.pick([1, 2, 5, 20]),
    batchWindowMs: random.pick([0, 0, 200, 5000]),
    timeoutMs: random.pick([2000, 10_000, 60_000]),
    lockMs: random.pick([5000, 30_000, 60_000]),
    mood: {
      fails: some(0.3),
      failsInPart: some(0.3),
      throttles: some(0.3),
      hangs: some(0.1),
      msMax: random.pick([50, 1000, 20_000]),
    },
    network: {
      requestLost: some(0.02),
      answerLost: some(0.02),
      late: some(0.01),
      serverError: some(0.02),
      throttled: some(0.02),
      slow: some(0.05),
    },
    stream: { lost: some(0.3), doubled: some(0.3), msMax: random.pick([200, 5000, 30_000]) },
    faultsPerMinute: random.pick([0, 0, 1, 4]),
    otherReceiver: random.chance(0.3),
  };
}
