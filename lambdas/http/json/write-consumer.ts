import { type ConsumerOf, consumersIn } from '../../../shared/broker/management/consumers.ts';
import { formatDuration } from '../../../shared/domain/duration.ts';
import { type Entity, requiresSession } from '../../../shared/domain/entities/entity.ts';
import { SUB_QUEUES } from '../../../shared/domain/entities/entity-path.ts';
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
          lastErrorAt: state.lastErrorAt === undefined ? undefined : isoDate(state.lastErrorAt),
          retryAt: state.retryAt === undefined ? undefined : isoDate(state.retryAt),
        }),
      },
    }),
  };
}

/** The member `consumers` of an entity in the list of all entities: those of all its queues; none where it has none. */
export function consumersJson(entity: Entity): Readonly<Record<string, unknown>> {
  const consumers = SUB_QUEUES.flatMap((subQueue) =>
    consumersIn(entity, subQueue).map((consumer) => ({
      subQueue,
      ...consumerJson({ entity, consumer }),
    })),
  );
  return consumers.length === 0 ? {} : { consumers };
}
