import { isDeepStrictEqual } from 'node:util';
import type { EntitySettings } from '../../broker/management/describe-entity.ts';
import { argumentError, BrokerError } from '../../domain/broker-error.ts';
import type { EntityDescription } from '../../domain/entities/descriptions.ts';
import type { EntityConfig } from '../namespace-config.ts';
import type { ConfigTarget } from './config-target.ts';

/** The policies of an entity stay if the configuration has none: a file can leave them out, since they have keys. */
export function withPolicies(
  settings: EntitySettings,
  description: EntityDescription,
): EntitySettings {
  if (settings.kind === 'subscription' || settings.authorizationRules !== undefined) {
    return settings;
  }
  if (description.kind === 'subscription' || description.authorizationRules.length === 0) {
    return settings;
  }
  return { ...settings, authorizationRules: description.authorizationRules };
}

/** Creates an entity, a subscription with its first rule. Returns false if it exists. Throws BrokerError. */
export async function isCreated(target: ConfigTarget, entity: EntityConfig): Promise<boolean> {
  const { name, settings, rules } = entity;
  const first = rules?.[0]?.rule;
  const withRule =
    settings.kind === 'subscription' && first !== undefined
      ? { ...settings, defaultRule: first }
      : settings;
  try {
    await target.create(name, withRule);
    return true;
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'MessagingEntityAlreadyExists') return false;
    throw error;
  }
}

/** Throws ArgumentError if the namespace has an entity of another kind. */
export function requireKind(
  { name, settings: { kind } }: EntityConfig,
  found: EntityDescription,
): void {
  if (found.kind === kind) return;
  throw argumentError(
    `The namespace has a ${found.kind} '${name}', and no ${kind}: delete it, or choose another name.`,
  );
}

/** Returns whether an existing entity had other settings and now has these. Throws BrokerError. */
export async function updateSettings(
  target: ConfigTarget,
  { name, settings }: EntityConfig,
  description: EntityDescription,
): Promise<boolean> {
  try {
    if (isDeepStrictEqual(target.describe(settings, description), description)) return false;
    await target.update(name, settings, '*');
    return true;
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'ArgumentError') throw error;
    throw argumentError(
      `${error.message} The entity exists: delete it, so that it is created anew, or change the configuration.`,
      error,
    );
  }
}
