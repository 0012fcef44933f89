import { entityTag } from '../../shared/broker/management/if-match.ts';
import type { Management } from '../../shared/broker/management/management.ts';
import { firstRule } from '../../shared/broker/management/rules.ts';
import { applyEach } from '../../shared/config/apply/apply-each.ts';
import type { ConfigTarget } from '../../shared/config/apply/config-target.ts';
import { type CheckedEntity, checkEntity } from '../../shared/config/check-entity.ts';
import { destinationsOf } from '../../shared/config/circles.ts';
import { Faults } from '../../shared/config/faults.ts';
import { readLoneEntity, SHORT_SPELLING } from '../../shared/config/short-form.ts';
import {
  argumentError,
  BrokerError,
  type BrokerErrorCode,
} from '../../shared/domain/broker-error.ts';
import type { EntityDescription } from '../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { forwardingToItself } from '../../shared/domain/entities/forwarding-settings.ts';
import { claim, disown } from './claim.ts';
import type { DeclareDependencies } from './dependencies.ts';
import type { Adoption, Claimant } from './ownership.ts';
import { repeat } from './repeat.ts';
import { undoOnFailure } from './undo.ts';

/** A queue, topic or subscription that a stack declares. */
export interface DeclaredEntity {
  /** The lower-case path, by which CloudFormation knows it: another spelling of a name is no other entity. */
  readonly key: string;
  readonly config: CheckedEntity;
  readonly adoption: Adoption;
}

/**
 * Reads the properties of a resource. `settings` = the text of a JSON object in the short form of configurations, with
 * the rules of a subscription. Throws ArgumentError with a line for each fault.
 */
export function readDeclaredEntity(
  kind: EntityDescription['kind'],
  {
    Name: name,
    Settings: settings,
    Adopt: adopt,
    AdoptFrom: from,
  }: Readonly<Record<string, unknown>>,
): DeclaredEntity {
  if (typeof name !== 'string' || typeof settings !== 'string') {
    throw argumentError('The properties Name and Settings are missing.');
  }
  const faults = new Faults();
  const { key, subscription } = parseEntityPath(name);
  const raw = readLoneEntity(
    {
      kind,
      name: subscription?.name ?? name,
      topic: subscription?.topic,
      value: JSON.parse(settings),
    },
    faults,
  );
  const config = raw && checkEntity(raw, SHORT_SPELLING, faults, { tier: undefined });
  if (config === undefined || faults.lines.length > 0) throw argumentError(faults.lines.join('\n'));
  for (const { name: destination } of destinationsOf(config)) {
    if (destination.toLowerCase() === key) throw forwardingToItself({ name }, destination);
  }
  const adopts = adopt === 'true';
  return { key, config, adoption: typeof from === 'string' ? { adopts, from } : { adopts } };
}

/**
 * Reads the properties of a resource that CloudFormation updates from `before`: where a subscription's last declared
 * rule goes, the default rule takes its place. Throws ArgumentError with a line for each fault.
 */
export function readUpdatedEntity(
  kind: EntityDescription['kind'],
  properties: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): DeclaredEntity {
  const declared = readDeclaredEntity(kind, properties);
  const { config } = declared;
  if (kind !== 'subscription' || config.rules !== undefined || !hadRules(before)) return declared;
  const { at } = config;
  return { ...declared, config: { ...config, rules: [{ at, rule: firstRule(undefined) }] } };
}

function hadRules({ Settings: settings }: Readonly<Record<string, unknown>>): boolean {
  try {
    const before: unknown = JSON.parse(String(settings));
    return typeof before === 'object' && before !== null && 'rules' in before;
  } catch {
    // Settings of an update that failed, which may have had rules.
    return true;
  }
}

/**
 * Makes an entity as it is declared, whatever it was before: creates it, or updates what differs, with exactly the
 * declared rules if there are any. Shared access policies stay. The same call again changes nothing. `known` = the id
 * by which CloudFormation knows the resource; absent = it creates it.
 *
 * Throws ArgumentError for what the service refuses, such as a change of a setting that is fixed at creation, and for
 * an entity that belongs to somebody else. About 4 read and 5 write units for a new queue, 4 read
 * units and 1 write unit for no change.
 */
export async function putEntity(
  dependencies: DeclareDependencies,
  { key, config, adoption }: DeclaredEntity,
  by: Claimant,
  known: string | undefined,
): Promise<void> {
  const { management } = dependencies;
  const title = `${config.kind} '${config.name}'`;
  const isRepeated = await repeat(dependencies, async () => {
    const exists = (await find(management, config.name)) !== undefined;
    const wanted = { ...by, key, title, exists, known, adoption };
    return (await claim(dependencies, wanted)) && exists;
  });
  const origin = { isKnown: known === key, isRepeated };
  await undoOnFailure(
    origin,
    () => deleteEntity(dependencies, key, by),
    async () => {
      const { faults } = await applyEach(targetOf(dependencies), { entities: [config] });
      if (faults.length > 0) throw argumentError(faults.join('\n'));
    },
  );
}

/**
 * Deletes an entity with its messages, if this resource has made it; what it has found or taken over goes back. What is
 * gone already, or belongs to somebody else, is left alone. `isUnknown` = CloudFormation has never learned what the
 * resource had made; then an entity stays, since it may be one that was retained.
 */
export async function deleteEntity(
  dependencies: DeclareDependencies,
  key: string,
  by: Claimant,
  isUnknown = false,
): Promise<void> {
  const remove = () => removeEntity(dependencies, key);
  const claimant = { ...by, leaves: isUnknown };
  await repeat(dependencies, () => disown(dependencies, key, claimant, { remove }), [
    'PreconditionFailed',
  ]);
}

/** Deletes an entity, but not another one that somebody makes under its name meanwhile. */
async function removeEntity({ management }: DeclareDependencies, key: string): Promise<void> {
  const entity = await find(management, key);
  if (entity === undefined) return;
  await management.delete(key, [entityTag(entity)]).catch(except('MessagingEntityNotFound'));
}

/** The entity as it is now; undefined if there is none. */
export async function find(management: Management, path: string): Promise<Entity | undefined> {
  return await management.get(path).catch(except('MessagingEntityNotFound'));
}

/** Handles errors of one code by `instead`, or by nothing; throws all others again. */
export function except<T = undefined>(code: BrokerErrorCode, instead?: () => Promise<T>) {
  return async (error: unknown): Promise<T | undefined> => {
    if (error instanceof BrokerError && error.code === code) return await instead?.();
    throw error;
  };
}

/** The namespace, in which others may be at work: calls are repeated, and keep the policies that others add. */
export function targetOf(dependencies: DeclareDependencies): ConfigTarget {
  const { management } = dependencies;
  const { rules, consumers } = management;
  const patient = <T>(work: () => Promise<T>) => repeat(dependencies, work);
  return {
    create: (path, settings) => patient(() => management.create(path, settings)),
    update: (path, settings) =>
      repeat(dependencies, async () => {
        const entity = await management.get(path);
        const whole =
          settings.kind === 'subscription' || entity.description.kind === 'subscription'
            ? settings
            : { ...settings, authorizationRules: entity.description.authorizationRules };
        return await management.update(path, whole, [entityTag(entity)]);
      }, ['PreconditionFailed']),
    get: (path) => patient(() => management.get(path)),
    describe: (settings, current) => management.describe(settings, current),
    rules: {
      // An earlier try may have taken effect, its answer lost.
      create: (path, rule) =>
        patient(() => rules.create(path, rule)).catch(
          except('MessagingEntityAlreadyExists', () =>
            patient(() => rules.update(path, rule, '*')),
          ),
        ),
      update: (path, rule, ifMatch) => patient(() => rules.update(path, rule, ifMatch)),
      delete: (path, name) =>
        patient(() => rules.delete(path, name)).catch(except('MessagingEntityNotFound')),
      list: (path, page) => patient(() => rules.list(path, page)),
    },
    consumers: {
      put: (path, name, input) => patient(() => consumers.put(path, name, input)),
      remove: (path, name) =>
        patient(() => consumers.remove(path, name)).catch(except('MessagingEntityNotFound')),
      list: (path) => patient(() => consumers.list(path)),
    },
  };
}
