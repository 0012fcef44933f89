import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import { checkEntity } from '../../../shared/config/check-entity.ts';
import { Faults } from '../../../shared/config/faults.ts';
import { Fields, type Placed } from '../../../shared/config/fields.ts';
import { type EntityKind, SETTINGS } from '../../../shared/config/setting-table.ts';
import { SHORT_SPELLING } from '../../../shared/config/short-form.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import {
  FORWARDING,
  forwardingToItself,
} from '../../../shared/domain/entities/forwarding-settings.ts';
import { DEFAULT_RULE_NAME } from '../../../shared/domain/entities/rule-name.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import { correction, shown } from '../../../shared/domain/fault-words.ts';
import { isJsonObject } from '../format/exact-json.ts';
import { parseDescription, plainNumbers, requireNoFaults } from './description-body.ts';
import { checkedRule, rawRule, requireAgreement } from './read-rule.ts';

/** The members that only an answer has, by kind. A request may repeat them, so that what was read can be sent back. */
export const READ_ONLY: Readonly<Record<EntityKind, readonly string[]>> = (() => {
  const common = [
    'activeMessageCount',
    'deferredMessageCount',
    'deadLetterMessageCount',
    'scheduledMessageCount',
    'transferMessageCount',
    'transferDeadLetterMessageCount',
    'totalMessageCount',
    'countsAreEstimates',
    'sizeInBytes',
    'createdAt',
    'modifiedAt',
    'accessedAt',
  ];
  return {
    queue: common,
    topic: [...common, 'subscriptionCount', 'sqlFilterCount', 'correlationFilterCount'],
    subscription: [...common, 'topicName', 'subscriptionName'],
  };
})();

/**
 * Reads the settings of the entity at `path` from JSON (semantics G26). Missing settings are left out, which means
 * their defaults; members that only answers have are ignored. Throws ArgumentError with all faults and their paths.
 */
export function readEntity(body: Uint8Array, path: string, tier: Tier): EntitySettings {
  const at = parseEntityPath(path);
  const { defaultRule, ...members } = parseDescription(body);
  const faults = new Faults();
  const fields = Fields.of(plainNumbers(members), '', faults);
  assert(fields !== undefined, 'the body is an object');
  const kind = kindOf(fields, at);
  const settings = kind && settingsOf(kind, fields, at, tier);
  const rule = kind && readDefaultRule(defaultRule, kind, fields);
  requireNoFaults(faults);
  assert(settings !== undefined, 'an entity without faults was read');
  return rule === undefined || settings.kind !== 'subscription'
    ? settings
    : { ...settings, defaultRule: rule };
}

/** A path of a subscription tells the kind; undefined, with a fault, where the body must and does not. */
function kindOf(fields: Fields, { subscription }: EntityPath): EntityKind | undefined {
  const given = fields.get('kind');
  if (subscription !== undefined) {
    requireAgreement(fields, 'kind', 'subscription', 'the path is that of one');
    return 'subscription';
  }
  if (given === 'queue' || given === 'topic') return given;
  fields.faults.add(
    given === undefined ? '' : 'kind',
    given === undefined
      ? 'The kind is missing: add "kind":"queue" or "kind":"topic".'
      : `It must be "queue" or "topic" at this path, not ${shown(given)}.`,
  );
  return undefined;
}

function settingsOf(
  kind: EntityKind,
  fields: Fields,
  at: EntityPath,
  tier: Tier,
): EntitySettings | undefined {
  const { faults } = fields;
  const known = Object.keys(SETTINGS[kind]);
  fields.requireKnown(['kind', 'name', ...known, ...READ_ONLY[kind]], (name) =>
    adviceOn(kind, name),
  );
  requireAgreement(fields, 'name', at.name, 'the path says');
  if (at.subscription !== undefined) {
    requireAgreement(fields, 'topicName', at.subscription.topic, 'the path says');
    requireAgreement(fields, 'subscriptionName', at.subscription.name, 'the path says');
  }
  // Other empty texts remove what was set; there is always a status.
  if (fields.get('status') === '') {
    faults.add('status', 'It is empty: remove it, which means Active, or name a status.');
  }
  const settings = new Map<string, Placed>();
  for (const name of known) {
    const value = fields.get(name);
    if (value !== undefined) settings.set(name, { at: fields.pathOf(name), value });
  }
  // Management checks the path, and an entity that exists may have a name that a new one may not.
  const raw = { kind, at: '', nameAt: '', name: 'x', settings };
  const checked = checkEntity(raw, SHORT_SPELLING, faults, { tier });
  if (checked === undefined) return undefined;
  refuseOwnName(checked, at, faults);
  return checked.settings;
}

/** The service refuses the entity itself as its own destination by name, but not by address (semantics #126). */
function refuseOwnName(
  { settings, addressed }: NonNullable<ReturnType<typeof checkEntity>>,
  at: EntityPath,
  faults: Faults,
): void {
  if (settings.kind === 'topic') return;
  for (const setting of FORWARDING) {
    const name = settings[setting];
    if (addressed.has(setting) || name?.toLowerCase() !== at.name.toLowerCase()) continue;
    faults.add(setting, forwardingToItself(at, name).message);
  }
}

/** What to do about a member that this kind of entity does not have. It may be one of another kind, or misspelled. */
function adviceOn(kind: EntityKind, name: string): string {
  if (name === 'rules') {
    return kind === 'subscription'
      ? 'Rules have addresses of their own: PUT each to …/Rules/{name}. The first one may be the defaultRule.'
      : 'Only a subscription has rules: remove them.';
  }
  if (name === 'consumers') {
    return kind === 'topic'
      ? 'A topic has no consumers: its subscriptions have them.'
      : 'Consumers have addresses of their own: PUT each to …/consumers/{name}.';
  }
  const others = Object.entries(SETTINGS).flatMap(([other, table]) =>
    Object.hasOwn(table, name) ? [other] : [],
  );
  if (others.length === 0) {
    return `There is no such property: ${correction(name, Object.keys(SETTINGS[kind]))}.`;
  }
  return `It is a setting of a ${others.join(' or ')}, not of a ${kind}: remove it.`;
}

function readDefaultRule(json: unknown, kind: EntityKind, fields: Fields): RuleInput | undefined {
  if (json === undefined || json === null) return undefined;
  if (kind !== 'subscription') {
    fields.faults.add('defaultRule', `Only a subscription has one, not a ${kind}: remove it.`);
    return undefined;
  }
  const given = isJsonObject(json) ? json['name'] : undefined;
  const name = given ?? DEFAULT_RULE_NAME;
  if (typeof name !== 'string') {
    fields.faults.add('defaultRule.name', `It must be a text, not ${shown(plainNumbers(name))}.`);
    return undefined;
  }
  const raw = rawRule(json, 'defaultRule', name, fields);
  return raw && checkedRule(raw, json, fields.faults);
}
