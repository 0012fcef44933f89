import { SUBSCRIPTION_DEFAULTS } from '../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import {
  forwardingToItself,
  requireForwardingElsewhere,
  requireSessionsMayForward,
} from '../../shared/domain/entities/forwarding-settings.ts';
import { nearestOf } from '../../shared/domain/fault-words.ts';
import type { CheckedEntity } from './check-entity.ts';
import type { Faults } from './config-error.ts';

/** The settings that forward. */
const FORWARDING = ['forwardTo', 'forwardDeadLetteredMessagesTo'] as const;

/** The names of an entity's destinations in lower case, with the paths of their settings. */
export function destinationsOf({
  settings,
  places,
}: Pick<CheckedEntity, 'settings' | 'places'>): readonly Destination[] {
  if (settings.kind === 'topic') return [];
  return FORWARDING.flatMap((setting) => {
    const name = settings[setting];
    return name === undefined ? [] : [{ setting, name, at: places[setting] ?? '' }];
  });
}

interface Destination {
  readonly setting: (typeof FORWARDING)[number];
  readonly name: string;
  readonly at: string;
}

/**
 * Checks that entities forward to others of the configuration, as the service allows it, and in no circle. `keys` = the
 * lower-case names of all queues and topics, also of those whose other faults are noted already.
 */
export function checkForwarding(
  entities: readonly CheckedEntity[],
  keys: ReadonlySet<string>,
  faults: Faults,
): void {
  const targets = new Map(
    entities
      .filter(({ kind }) => kind !== 'subscription')
      .map((entity) => [entity.name.toLowerCase(), entity]),
  );
  for (const entity of entities) {
    for (const destination of destinationsOf(entity)) {
      const key = destination.name.toLowerCase();
      const target = targets.get(key);
      if (target === undefined) {
        if (!keys.has(key)) faults.add(destination.at, missing(destination.name, targets));
      } else faults.attempt(destination.at, () => requireAllowed(entity, destination, target));
    }
  }
  checkCircles(targets, faults);
}

function missing(name: string, targets: ReadonlyMap<string, CheckedEntity>): string {
  const names = [...targets.values()].map((target) => target.name);
  const nearest = nearestOf(name, names);
  const instead = nearest === undefined ? '' : `write ${nearest} instead, `;
  return `There is no queue or topic '${name}' in this configuration: ${instead}add it, or remove the forwarding.`;
}

function requireAllowed(entity: CheckedEntity, to: Destination, target: CheckedEntity): void {
  const path = parseEntityPath(entity.name);
  if (target === entity) throw forwardingToItself(path, to.name);
  // With this destination alone, so that its fault has the path of its own.
  requireForwardingElsewhere(path, { ...SUBSCRIPTION_DEFAULTS, [to.setting]: to.name });
  if (to.setting === 'forwardTo') requireSessionsMayForward(entity.description, target.kind);
}

/**
 * Notes each circle of queues once. A circle through a topic is none: the filters of its subscriptions decide what goes
 * round.
 */
function checkCircles(targets: ReadonlyMap<string, CheckedEntity>, faults: Faults): void {
  const done = new Set<CheckedEntity>();
  for (const start of targets.values()) {
    // Depth first, without recursion: a chain may be as long as the configuration.
    const way: { readonly entity: CheckedEntity; readonly rest: Destination[] }[] = [];
    const enter = (entity: CheckedEntity) => {
      if (done.has(entity)) return;
      done.add(entity);
      way.push({ entity, rest: [...destinationsOf(entity)] });
    };
    enter(start);
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const next = last.rest.shift();
      const target = next && targets.get(next.name.toLowerCase());
      if (next === undefined) way.pop();
      else if (target !== undefined && target !== last.entity) {
        const from = way.findIndex(({ entity }) => entity === target);
        if (from >= 0) faults.add(next.at, circle(way.slice(from).map(({ entity }) => entity)));
        else enter(target);
      }
    }
  }
}

function circle(entities: readonly CheckedEntity[]): string {
  const names = [...entities, ...entities.slice(0, 1)].map(({ name }) => name);
  return `Messages would be forwarded in a circle, ${names.join(' → ')}: remove one of these forwardings.`;
}
