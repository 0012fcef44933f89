import type { CheckedEntity } from '../../shared/config/check-entity.ts';
import { type Destination, destinationsOf } from '../../shared/config/circles.ts';
import type { Faults } from '../../shared/config/faults.ts';
import { SUBSCRIPTION_DEFAULTS } from '../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import {
  forwardingToItself,
  requireForwardingElsewhere,
  requireSessionsMayForward,
} from '../../shared/domain/entities/forwarding-settings.ts';
import { nearestOf } from '../../shared/domain/fault-words.ts';

/**
 * Checks that entities forward to entities of the configuration, as the service allows it (semantics #126, #127).
 * `keys` = the lower-case names of all queues and topics, also of those whose other faults are noted already.
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
}

function missing(name: string, targets: ReadonlyMap<string, CheckedEntity>): string {
  const names = [...targets.values()].map((target) => target.name);
  const nearest = nearestOf(name, names);
  const instead = nearest === undefined ? '' : `write ${nearest} instead, `;
  return `There is no queue or topic '${name}' in this configuration: ${instead}add it, or remove the forwarding.`;
}

function requireAllowed(entity: CheckedEntity, to: Destination, target: CheckedEntity): void {
  const path = parseEntityPath(entity.name);
  // The service knows a circle of one by its address only; longer circles end by the limit on hops.
  if (target === entity && !entity.addressed.has(to.setting)) {
    throw forwardingToItself(path, to.name);
  }
  // With this destination alone, so that its fault has the path of its own.
  requireForwardingElsewhere(path, { ...SUBSCRIPTION_DEFAULTS, [to.setting]: to.name });
  if (to.setting === 'forwardTo') requireSessionsMayForward(entity.description, target.kind);
}
