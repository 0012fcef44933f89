import { argumentError } from '../broker-error.ts';
import { requireDuration, requireWhole } from '../entities/setting-checks.ts';
import { CONSUMER_LIMITS, type ConsumerSettings } from './consumer.ts';
import { parseTarget } from './target.ts';

/** The settings in a client's request. The others take their defaults, on a change too, since it replaces them all. */
export type ConsumerInput = Pick<ConsumerSettings, 'target'> &
  Partial<Omit<ConsumerSettings, 'target'>>;

/** The settings that a request may leave out, with their defaults; `maxPerSecond` is unlimited (semantics J3). */
export const CONSUMER_DEFAULTS = {
  maxBatch: CONSUMER_LIMITS.maxBatchDefault,
  batchWindowMs: 0,
  maxConcurrency: CONSUMER_LIMITS.maxConcurrencyDefault,
  timeoutMs: CONSUMER_LIMITS.timeoutMsDefault,
  enabled: true,
} as const satisfies Omit<ConsumerSettings, 'target'>;

/** The settings of a consumer that is created or replaced (semantics J3, J4). Throws ArgumentError. */
export function consumerSettings(input: ConsumerInput): ConsumerSettings {
  const settings: ConsumerSettings = { ...CONSUMER_DEFAULTS, ...input };
  const { maxBatch, batchWindowMs, maxConcurrency, maxPerSecond, timeoutMs } = settings;
  const { batchWindowMsMax, timeoutMsMin, timeoutMsMax, maxPerSecondMax } = CONSUMER_LIMITS;
  parseTarget(settings.target);
  requireWhole('maxBatch', maxBatch, 1, CONSUMER_LIMITS.maxBatchMax);
  requireWhole('maxConcurrency', maxConcurrency, 1, CONSUMER_LIMITS.maxConcurrencyMax);
  if (maxPerSecond !== undefined) requireWhole('maxPerSecond', maxPerSecond, 1, maxPerSecondMax);
  requireWholeMs('batchWindow', batchWindowMs);
  requireDuration('batchWindow', batchWindowMs, 0, batchWindowMsMax);
  requireWholeMs('timeout', timeoutMs);
  requireDuration('timeout', timeoutMs, timeoutMsMin, timeoutMsMax);
  return settings;
}

/** Infinity, which is unlimited, is refused as above the maximum. */
function requireWholeMs(name: string, ms: number): void {
  if (ms === Infinity || Number.isInteger(ms)) return;
  throw argumentError(`The value of the '${name}' property is not a whole number of milliseconds.`);
}
