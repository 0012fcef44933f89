import type { ConsumerOf } from '../../../shared/broker/management/consumers.ts';
import { formatDuration } from '../../../shared/domain/duration.ts';
import { requiresSession } from '../../../shared/domain/entities/entity.ts';
import { present } from '../../../shared/domain/present.ts';
import { isoDate } from '../format/date-text.ts';

/** The JSON of a consumer (semantics J5), from which `readConsumer` reads the same settings. */
export function consumerJson({
  entity,
  consumer,
  state,
}: ConsumerOf): Readonly<Record<string, unknown>> {
  return {
    name: consumer.name,
    target: consumer.target,
    maxBatch: consumer.maxBatch,
    batchWindow: formatDuration(consumer.batchWindowMs),
    maxConcurrency: consumer.maxConcurrency,
    ...present({ maxPerSecond: consumer.maxPerSecond }),
    timeout: formatDuration(consumer.timeoutMs),
    enabled: consumer.enabled,
    // Messages of dead-letter queues are in no session.
    requiresSession: consumer.subQueue === 'main' && requiresSession(entity),
    createdAt: isoDate(consumer.createdAt),
    modifiedAt: isoDate(consumer.updatedAt),
    ...(state !== undefined && {
      state: {
        isRunning: state.isRunning,
        ...present({
          lastError: state.lastError,
          retryAt: state.retryAt === undefined ? undefined : isoDate(state.retryAt),
        }),
      },
    }),
  };
}
