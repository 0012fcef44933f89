import { FORWARDING } from '../domain/entities/forwarding-settings.ts';
import type { EntityConfig } from './namespace-config.ts';

/** A destination of an entity, with the setting and its path in the configuration. */
export interface Destination {
  readonly setting: (typeof FORWARDING)[number];
  readonly name: string;
  readonly at: string;
}

/** The destinations of an entity. */
export function destinationsOf({
  settings,
  places,
}: Pick<EntityConfig, 'settings' | 'places'>): readonly Destination[] {
  if (settings.kind === 'topic') return [];
  return FORWARDING.flatMap((setting) => {
    const name = settings[setting];
    return name === undefined ? [] : [{ setting, name, at: places[setting] ?? '' }];
  });
}

/**
 * The settings that close a circle of queues, by the lower-case name of the queue: without them no circle is left, so
 * that every destination can be created before what forwards to it. A circle through a topic is none here, since a
 * topic exists before its subscriptions do.
 */
export function closingForwards(
  entities: ReadonlyMap<string, EntityConfig>,
): ReadonlyMap<string, readonly Destination[]> {
  const closing = new Map<string, readonly Destination[]>();
  const done = new Set<string>();
  for (const start of entities.keys()) {
    // Depth first, without recursion: a chain may be as long as the configuration.
    const way: { readonly key: string; readonly rest: Destination[] }[] = [];
    const enter = (key: string) => {
      const entity = entities.get(key);
      if (entity === undefined || done.has(key)) return;
      done.add(key);
      way.push({ key, rest: [...destinationsOf(entity)] });
    };
    enter(start);
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const next = last.rest.shift();
      const key = next?.name.toLowerCase() ?? '';
      if (next === undefined) way.pop();
      else if (way.some((one) => one.key === key)) {
        closing.set(last.key, [...(closing.get(last.key) ?? []), next]);
      } else enter(key);
    }
  }
  return closing;
}
