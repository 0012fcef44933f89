import { decodeXml, type XmlNode } from '../../client/atom-xml.ts';
import type { Described } from '../../client/management.ts';
import { NAMESPACE } from '../../lambdas/http/atom/namespaces.ts';
import { readRule } from '../../lambdas/http/atom/read-rule.ts';
import { readQueue, readSubscription, readTopic } from '../../lambdas/http/atom/read-settings.ts';
import type { XmlElement } from '../../lambdas/http/atom/xml.ts';
import {
  describeEntity,
  type EntitySettings,
} from '../../shared/broker/management/describe-entity.ts';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import type { EntityDescription } from '../../shared/domain/entities/descriptions.ts';
import type { Tier } from '../../shared/domain/entities/tier.ts';
import { LIMITS } from '../../shared/domain/limits.ts';

/** The keys of policies are in the description, so none is made. */
const NO_KEYS = { bytes: (count: number) => new Uint8Array(count) };

/** The description in the entry of an entity. `path` = that of the entity. Throws ArgumentError. */
export function readDescription(entry: Described, path: string, tier: Tier): EntityDescription {
  const settings = readSettings(entry, path);
  // A Premium namespace does not show into how many partitions it divides the size.
  const isDivided =
    tier === 'Premium' && settings.kind !== 'subscription' && settings.enablePartitioning === true;
  const whole = isDivided ? { ...settings, partitions: LIMITS.partitionsPremium } : settings;
  return describeEntity(whole, undefined, { namespace: undefined, now: 0, random: NO_KEYS });
}

function readSettings({ kind, description }: Described, path: string): EntitySettings {
  const element = elementOf(kind, description);
  switch (kind) {
    case 'QueueDescription':
      return readQueue(element, path);
    case 'TopicDescription':
      return readTopic(element);
    default:
      return readSubscription(element, path);
  }
}

/** The rule in an entry. Throws ArgumentError. */
export function readRuleOf({ kind, title, description }: Described): RuleInput {
  return readRule(elementOf(kind, description), title);
}

/** An element as the server's reader has it. The client's parser drops prefixes, so all are in one namespace. */
function elementOf(name: string, node: XmlNode): XmlElement {
  const members = Object.entries(node);
  return {
    namespace: NAMESPACE.description,
    name,
    attributes: members.flatMap(([key, value]) =>
      key.startsWith('@') && typeof value === 'string'
        ? [{ namespace: NAMESPACE.instance, name: key.slice(1), value: decodeXml(value) }]
        : [],
    ),
    children: members.flatMap(([key, value]) =>
      key.startsWith('@')
        ? []
        : [value].flat().flatMap((each) => (isNode(each) ? [elementOf(key, each)] : [])),
    ),
    text: typeof node['#text'] === 'string' ? decodeXml(node['#text']) : '',
  };
}

function isNode(value: unknown): value is XmlNode {
  return typeof value === 'object' && value !== null;
}
