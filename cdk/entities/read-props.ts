import { Duration, Token } from 'aws-cdk-lib';
import { describeEntity } from '../../shared/broker/management/describe-entity.ts';
import { type CheckedEntity, checkEntity } from '../../shared/config/check-entity.ts';
import { Faults } from '../../shared/config/faults.ts';
import type { EntityKind } from '../../shared/config/setting-table.ts';
import { readLoneEntity, SHORT_SPELLING } from '../../shared/config/short-form.ts';
import type { Tier } from '../../shared/domain/entities/tier.ts';
import { SettingsError } from '../setting-faults.ts';

/** A declared entity and what was said of it. */
export interface GivenEntity {
  readonly kind: EntityKind;
  readonly name: string;
  /** The name of a subscription's topic. */
  readonly topic?: string | undefined;
  /** The settings, and the rules of a subscription, with values of CDK. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly tier: Tier;
}

/** An entity that the service would accept, with its settings as JSON has them. */
export interface ReadEntity {
  readonly config: CheckedEntity;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The place of a rule that is checked alone; its construct is what the user knows. */
const LONE_RULE = /^rules\[0\](?:\.|: )/;

/** Stands for the keys that are generated at deployment. */
const NO_KEYS = { bytes: (count: number) => new Uint8Array(count) };

/**
 * Checks an entity by the rules of the service, as its creation at deployment will. `at` = the path of the construct.
 * Throws SettingsError with a line for each fault, which begins with the path and the property.
 */
export function readEntity(at: string, given: GivenEntity): ReadEntity {
  const { kind, name, topic, tier } = given;
  const faults = new Faults();
  if (Token.isUnresolved(name) || Token.isUnresolved(topic)) {
    throw new SettingsError([
      `${at}: The name is a token, which deployment replaces: write the name itself.`,
    ]);
  }
  const { authorizationRules: policies, ...own } = given.settings;
  if (policies !== undefined) {
    faults.add('authorizationRules', 'Rules are declared by constructs: use AuthorizationRule.');
  }
  const settings = writtenSettings(own, faults);
  const raw = readLoneEntity({ kind, name, topic, value: settings }, faults);
  const config = raw && checkEntity(raw, SHORT_SPELLING, faults, { tier });
  if (config !== undefined && faults.lines.length === 0) {
    const namespace = { name: 'the broker', tier };
    const context = { namespace, now: 0, random: NO_KEYS };
    faults.attempt('', () => describeEntity(config.settings, undefined, context));
  }
  if (config === undefined || faults.lines.length > 0) {
    throw new SettingsError(faults.lines.map((line) => `${at}: ${line.replace(LONE_RULE, '')}`));
  }
  return { config, settings };
}

/** Settings with durations as text. Tokens are faults, which are noted. Other values are left to the checks. */
export function writtenSettings(
  given: Readonly<Record<string, unknown>>,
  faults: Faults,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(given).map(([name, value]) => {
    if (!Token.isUnresolved(value) && !(value instanceof Duration && value.isUnresolved())) {
      return [name, value instanceof Duration ? value.toIsoString() : value] as const;
    }
    faults.add(name, 'It is a token, which deployment replaces: write the value itself.');
    return [name, undefined] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
