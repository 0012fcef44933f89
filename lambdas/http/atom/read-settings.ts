import type { EntitySettings } from '../../../shared/broker/management/management.ts';
import type { GivenAuthorizationRule } from '../../../shared/domain/entities/authorization-rules.ts';
import type { AccessRight, EntityStatus } from '../../../shared/domain/entities/descriptions.ts';
import { toItself } from '../../../shared/domain/entities/forwarding-settings.ts';
import { badValue } from '../../../shared/domain/entities/setting-checks.ts';
import { Fields, present } from './fields.ts';
import { trimSlashes } from './path.ts';
import { readRule } from './read-rule.ts';
import type { XmlElement } from './xml.ts';

const STATUSES = [
  'Active',
  'Disabled',
  'SendDisabled',
  'ReceiveDisabled',
] as const satisfies readonly EntityStatus[];
const RIGHTS = ['Send', 'Listen', 'Manage'] as const satisfies readonly AccessRight[];

/** What a `QueueDescription` says of the queue at a path. Throws ArgumentError. */
export function readQueue(element: XmlElement, path: string): EntitySettings {
  const fields = new Fields(element);
  return { kind: 'queue', ...common(fields), ...ingress(fields), ...delivery(fields, path) };
}

/** What a `TopicDescription` says. Throws ArgumentError. */
export function readTopic(element: XmlElement): EntitySettings {
  const fields = new Fields(element);
  return {
    kind: 'topic',
    ...common(fields),
    ...ingress(fields),
    ...present({
      filteringMessagesBeforePublishing: fields.boolean('FilteringMessagesBeforePublishing'),
      enableSubscriptionPartitioning: fields.boolean('EnableSubscriptionPartitioning'),
    }),
  };
}

/** What a `SubscriptionDescription` says of the subscription at a path. Throws ArgumentError. */
export function readSubscription(element: XmlElement, path: string): EntitySettings {
  const fields = new Fields(element);
  const rule = fields.child('DefaultRuleDescription');
  return {
    kind: 'subscription',
    ...common(fields),
    ...delivery(fields, path),
    ...present({
      deadLetteringOnFilterEvaluationExceptions: fields.boolean(
        'DeadLetteringOnFilterEvaluationExceptions',
      ),
      defaultRule: rule === undefined ? undefined : readRule(rule),
    }),
  };
}

function common(fields: Fields) {
  return present({
    defaultTimeToLiveMs: limited(fields.duration('DefaultMessageTimeToLive')),
    autoDeleteOnIdleMs: limited(fields.duration('AutoDeleteOnIdle')),
    enableBatchedOperations: fields.boolean('EnableBatchedOperations'),
    status: fields.oneOf('Status', STATUSES),
    userMetadata: fields.text('UserMetadata'),
  });
}

function ingress(fields: Fields) {
  return present({
    maxSizeInMegabytes: fields.whole('MaxSizeInMegabytes'),
    requiresDuplicateDetection: fields.boolean('RequiresDuplicateDetection'),
    duplicateDetectionMs: fields.duration('DuplicateDetectionHistoryTimeWindow'),
    authorizationRules: readAuthorizationRules(fields),
    supportOrdering: fields.boolean('SupportOrdering'),
    enablePartitioning: fields.boolean('EnablePartitioning'),
    enableExpress: fields.boolean('EnableExpress'),
    isAnonymousAccessible: fields.boolean('IsAnonymousAccessible'),
    maxMessageSizeInKilobytes: fields.whole('MaxMessageSizeInKilobytes'),
  });
}

function delivery(fields: Fields, path: string) {
  return present({
    lockMs: fields.duration('LockDuration'),
    requiresSession: fields.boolean('RequiresSession'),
    deadLetteringOnMessageExpiration: fields.boolean('DeadLetteringOnMessageExpiration'),
    maxDeliveryCount: fields.whole('MaxDeliveryCount'),
    forwardTo: destinationName(fields, 'ForwardTo', path),
    forwardDeadLetteredMessagesTo: destinationName(fields, 'ForwardDeadLetteredMessagesTo', path),
  });
}

/** Where a duration may be unlimited, unlimited is what its absence means too. */
function limited(ms: number | undefined): number | undefined {
  return ms === Infinity ? undefined : ms;
}

/**
 * A destination is given by name or by absolute address (semantics F1, #126). Of an address only the path
 * counts: destinations lie in this namespace, whatever host name the client knows it by. The entity itself
 * is a destination by its address only: the service refuses names.
 */
function destinationName(fields: Fields, element: string, itself: string): string | undefined {
  const text = fields.text(element)?.trim();
  if (text === undefined || text === '') return undefined;
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(\/[^?#]*)?/i.exec(text);
  const name = trimSlashes(decoded(path === null ? text : (path[1] ?? ''), element));
  if (path === null && name.toLowerCase() === trimSlashes(itself).toLowerCase()) {
    throw toItself({ name: itself }, name);
  }
  return name;
}

function decoded(text: string, element: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badValue(`The value '${text.slice(0, 64)}' of ${element} is not percent-encoded UTF-8.`);
  }
}

function readAuthorizationRules(fields: Fields): readonly GivenAuthorizationRule[] | undefined {
  const list = fields.child('AuthorizationRules');
  return list && new Fields(list).children('AuthorizationRule').map(readAuthorizationRule);
}

function readAuthorizationRule(element: XmlElement): GivenAuthorizationRule {
  const fields = new Fields(element);
  const rights = fields.child('Rights');
  return {
    keyName: fields.text('KeyName') ?? '',
    rights: rights === undefined ? [] : new Fields(rights).children('AccessRights').map(readRight),
    ...present({
      primaryKey: fields.text('PrimaryKey'),
      secondaryKey: fields.text('SecondaryKey'),
    }),
  };
}

function readRight({ text }: XmlElement): AccessRight {
  const right = RIGHTS.find((one) => one === text.trim());
  if (right !== undefined) return right;
  throw badValue(`The access right '${text.slice(0, 64)}' is not one of ${RIGHTS.join(', ')}.`);
}
