import type { EntityConsumers, ShownConsumer } from '../../client/consumers.ts';
import { readConsumer } from '../../lambdas/http/json/read-consumer.ts';
import { CONSUMER_SETTINGS } from '../../shared/config/setting-table.ts';
import { argumentError } from '../../shared/domain/broker-error.ts';
import type { ConsumerSettings } from '../../shared/domain/consumers/consumer.ts';
import {
  type ConsumerInput,
  consumerSettings,
} from '../../shared/domain/consumers/consumer-settings.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { SUB_QUEUES } from '../../shared/domain/entities/entity-path.ts';
import type { ExportedConsumer } from '../config/to-consumers.ts';

/** The settings of a consumer that the service shows. Throws ArgumentError for those of a later version. */
export function readShownConsumer({
  subQueue: _,
  ...shown
}: ShownConsumer & { readonly subQueue?: string }): ConsumerSettings {
  const body = new TextEncoder().encode(JSON.stringify(shown));
  return consumerSettings(readConsumer(body, shown.name));
}

/** A consumer in the list of all entities. */
export function readExportedConsumer(
  shown: EntityConsumers['consumers'][number],
): ExportedConsumer {
  const subQueue = SUB_QUEUES.find((one) => one === shown.subQueue);
  if (subQueue === undefined) throw argumentError(`There is no sub-queue '${shown.subQueue}'.`);
  return { name: shown.name, subQueue, settings: readShownConsumer(shown) };
}

/** The JSON of a request with these settings. */
export function writeConsumer(input: ConsumerInput): Readonly<Record<string, unknown>> {
  const given = new Map<string, unknown>(Object.entries(input));
  const members = Object.entries(CONSUMER_SETTINGS).map(([name, { field, form }]) => {
    const value = given.get(field);
    return [name, form === 'duration' && typeof value === 'number' ? formatDuration(value) : value];
  });
  return Object.fromEntries(members);
}
