import { CONSUMER_SETTINGS, fileName } from '../../shared/config/setting-table.ts';
import { writtenSetting } from '../../shared/config/written-setting.ts';
import type { ConsumerSettings } from '../../shared/domain/consumers/consumer.ts';
import { CONSUMER_DEFAULTS } from '../../shared/domain/consumers/consumer-settings.ts';
import type { SubQueue } from '../../shared/domain/entities/entity-path.ts';

/** A consumer of an entity. */
export interface ExportedConsumer {
  readonly name: string;
  readonly subQueue: SubQueue;
  readonly settings: ConsumerSettings;
}

/** The member `Consumers` of an entity in the file of the vendor's emulator; none where it has none. */
export function consumersOf(
  consumers: readonly ExportedConsumer[] = [],
): Readonly<Record<string, unknown>> {
  return consumers.length === 0 ? {} : { Consumers: consumers.map(consumerOf) };
}

function consumerOf({ name, subQueue, settings }: ExportedConsumer) {
  const defaults = new Map<string, unknown>(Object.entries(CONSUMER_DEFAULTS));
  const found = new Map<string, unknown>(Object.entries(settings));
  const properties = Object.entries(CONSUMER_SETTINGS).flatMap(([setting, { field, form }]) => {
    const value = found.get(field);
    const isLeftOut = value === undefined || value === defaults.get(field);
    return isLeftOut ? [] : [[fileName(setting), writtenSetting(form, value)] as const];
  });
  return {
    Name: name,
    ...(subQueue === 'main' ? {} : { SubQueue: fileName(subQueue) }),
    Properties: Object.fromEntries(properties),
  };
}
