import type { Random } from '../../test/simulation/machines/random.ts';

/** A distribution of times: lognormal, with rare outliers. */
interface Distribution {
  readonly medianMs: number;
  /** Of the logarithm: 0.35 makes the 99th percentile 2.3 times the median. */
  readonly deviation: number;
}

/** The assumed times of requests, from published figures; nothing here was measured. */
export const LATENCIES = {
  read: { medianMs: 4, deviation: 0.35 },
  write: { medianMs: 6, deviation: 0.35 },
  transaction: { medianMs: 12, deviation: 0.35 },
  /** From the client through API Gateway to a function, and back. */
  gateway: { medianMs: 10, deviation: 0.25 },
  coldStart: { medianMs: 400, deviation: 0.2 },
} as const satisfies Record<string, Distribution>;

/** The share of outliers, and how many times as long they take: a retransmission, a new leader. */
const FAR_OUT = { chance: 0.003, times: 6 };

/** What a function computes for a call, ms, and for each message in it. */
export const HANDLER_MS = { call: 2, message: 0.08 } as const;

/** Draws a time, in whole ms, at least 1. */
export function drawLatency(random: Random, kind: keyof typeof LATENCIES): number {
  const { medianMs, deviation } = LATENCIES[kind];
  const radius = Math.sqrt(-2 * Math.log(1 - random.fraction()));
  const normal = radius * Math.cos(2 * Math.PI * random.fraction());
  const times = random.chance(FAR_OUT.chance) ? FAR_OUT.times : 1;
  return Math.max(1, Math.round(medianMs * Math.exp(deviation * normal) * times));
}
