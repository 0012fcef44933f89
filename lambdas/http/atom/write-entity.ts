import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { MessageCounts } from '../../../shared/broker/ports/management.ts';
import { formatDuration } from '../../../shared/domain/duration.ts';
import type { AuthorizationRuleInput } from '../../../shared/domain/entities/authorization-rules.ts';
import type {
  AuthorizationRule,
  IngressSettings,
  QueueDescription,
  SubscriptionDescription,
  TopicDescription,
} from '../../../shared/domain/entities/descriptions.ts';
import { totalMegabytes } from '../../../shared/domain/entities/entity-settings.ts';
import { isoDate } from '../format/date-text.ts';
import type { AddressOf } from '../management/links.ts';
import { totalCount } from '../management/total-count.ts';
import { NAMESPACE } from './namespaces.ts';
import { element, optional, type Xml } from './write-xml.ts';

/**
 * Writes the description of an entity, the content of an entry. It has all settings and all runtime
 * properties: clients read both from one document and refuse one that lacks an element. The order of
 * elements is that of the service's data contract (semantics G12, G13), on which some clients depend.
 */
export function writeEntity(report: EntityReport, addressOf: AddressOf): Xml {
  const { description } = report.entity;
  switch (description.kind) {
    case 'queue':
      return descriptionElement('QueueDescription', queueElements(description, report, addressOf));
    case 'topic':
      return descriptionElement('TopicDescription', topicElements(description, report));
    case 'subscription':
      return descriptionElement(
        'SubscriptionDescription',
        subscriptionElements(description, report, addressOf),
      );
  }
}

/** Writes a root element in the service's own XML namespace, with the prefix `i` that its clients expect. */
export function descriptionElement(name: string, elements: readonly (Xml | undefined)[]): Xml {
  const attributes = { xmlns: NAMESPACE.description, 'xmlns:i': NAMESPACE.instance };
  return element(name, elements, attributes);
}

type Elements = readonly (Xml | undefined)[];

function queueElements(
  queue: QueueDescription,
  report: EntityReport,
  addressOf: AddressOf,
): Elements {
  return [
    duration('LockDuration', queue.lockMs),
    element('MaxSizeInMegabytes', String(totalMegabytes(queue))),
    boolean('RequiresDuplicateDetection', queue.requiresDuplicateDetection),
    boolean('RequiresSession', queue.requiresSession),
    duration('DefaultMessageTimeToLive', queue.defaultTimeToLiveMs),
    boolean('DeadLetteringOnMessageExpiration', queue.deadLetteringOnMessageExpiration),
    duration('DuplicateDetectionHistoryTimeWindow', queue.duplicateDetectionMs),
    element('MaxDeliveryCount', String(queue.maxDeliveryCount)),
    boolean('EnableBatchedOperations', queue.enableBatchedOperations),
    element('SizeInBytes', String(report.messages.size)),
    messageCount(report.messages),
    boolean('IsAnonymousAccessible', queue.isAnonymousAccessible),
    authorizationRules(queue),
    element('Status', queue.status),
    destination('ForwardTo', queue.forwardTo, addressOf),
    optional('UserMetadata', queue.userMetadata),
    ...times(report),
    boolean('SupportOrdering', queue.supportOrdering),
    countDetails(report.messages),
    duration('AutoDeleteOnIdle', queue.autoDeleteOnIdleMs),
    boolean('EnablePartitioning', queue.enablePartitioning),
    element('EntityAvailabilityStatus', 'Available'),
    destination('ForwardDeadLetteredMessagesTo', queue.forwardDeadLetteredMessagesTo, addressOf),
    boolean('EnableExpress', queue.enableExpress),
    element('MaxMessageSizeInKilobytes', String(queue.maxMessageSizeInKilobytes)),
  ];
}

function topicElements(topic: TopicDescription, report: EntityReport): Elements {
  return [
    duration('DefaultMessageTimeToLive', topic.defaultTimeToLiveMs),
    element('MaxSizeInMegabytes', String(totalMegabytes(topic))),
    boolean('RequiresDuplicateDetection', topic.requiresDuplicateDetection),
    duration('DuplicateDetectionHistoryTimeWindow', topic.duplicateDetectionMs),
    boolean('EnableBatchedOperations', topic.enableBatchedOperations),
    element('SizeInBytes', String(report.messages.size)),
    boolean('FilteringMessagesBeforePublishing', topic.filteringMessagesBeforePublishing),
    boolean('IsAnonymousAccessible', topic.isAnonymousAccessible),
    authorizationRules(topic),
    element('Status', topic.status),
    optional('UserMetadata', topic.userMetadata),
    ...times(report),
    boolean('SupportOrdering', topic.supportOrdering),
    countDetails(report.messages),
    element('SubscriptionCount', String(report.subscriptions)),
    ...filterCounts(report),
    duration('AutoDeleteOnIdle', topic.autoDeleteOnIdleMs),
    boolean('EnablePartitioning', topic.enablePartitioning),
    boolean('IsExpress', topic.enableExpress),
    element('EntityAvailabilityStatus', 'Available'),
    boolean('EnableSubscriptionPartitioning', topic.enableSubscriptionPartitioning),
    boolean('EnableExpress', topic.enableExpress),
    element('MaxMessageSizeInKilobytes', String(topic.maxMessageSizeInKilobytes)),
  ];
}

function filterCounts({ filters }: EntityReport): Elements {
  if (filters === undefined) return [];
  return [
    element('SqlFilterCount', String(filters.sql)),
    element('CorrelationFilterCount', String(filters.correlation)),
  ];
}

function subscriptionElements(
  subscription: SubscriptionDescription,
  report: EntityReport,
  addressOf: AddressOf,
): Elements {
  return [
    duration('LockDuration', subscription.lockMs),
    boolean('RequiresSession', subscription.requiresSession),
    duration('DefaultMessageTimeToLive', subscription.defaultTimeToLiveMs),
    boolean('DeadLetteringOnMessageExpiration', subscription.deadLetteringOnMessageExpiration),
    boolean(
      'DeadLetteringOnFilterEvaluationExceptions',
      subscription.deadLetteringOnFilterEvaluationExceptions,
    ),
    messageCount(report.messages),
    element('MaxDeliveryCount', String(subscription.maxDeliveryCount)),
    boolean('EnableBatchedOperations', subscription.enableBatchedOperations),
    element('Status', subscription.status),
    destination('ForwardTo', subscription.forwardTo, addressOf),
    ...times(report),
    optional('UserMetadata', subscription.userMetadata),
    countDetails(report.messages),
    destination(
      'ForwardDeadLetteredMessagesTo',
      subscription.forwardDeadLetteredMessagesTo,
      addressOf,
    ),
    duration('AutoDeleteOnIdle', subscription.autoDeleteOnIdleMs),
    element('EntityAvailabilityStatus', 'Available'),
  ];
}

/** The authorization rules with their keys (semantics G16). */
function authorizationRules({ authorizationRules: rules }: IngressSettings): Xml {
  return element(
    'AuthorizationRules',
    rules.map((rule) => authorizationRule(rule)),
  );
}

/** An authorization rule as an entity has it, or as a client sends it: without times, and maybe without keys. */
export function authorizationRule(rule: AuthorizationRuleInput & Partial<AuthorizationRule>): Xml {
  const time = (name: string, at: number | undefined) =>
    at === undefined ? undefined : element(name, isoDate(at));
  return element(
    'AuthorizationRule',
    [
      element('ClaimType', 'SharedAccessKey'),
      element('ClaimValue', 'None'),
      element(
        'Rights',
        rule.rights.map((right) => element('AccessRights', right)),
      ),
      time('CreatedTime', rule.createdAt),
      time('ModifiedTime', rule.modifiedAt),
      element('KeyName', rule.keyName),
      optional('PrimaryKey', rule.primaryKey),
      optional('SecondaryKey', rule.secondaryKey),
    ],
    { 'i:type': 'SharedAccessAuthorizationRule' },
  );
}

function times({ entity, messages }: EntityReport): Elements {
  const accessed = messages.accessedAt;
  return [
    element('CreatedAt', isoDate(entity.createdAt)),
    element('UpdatedAt', isoDate(entity.updatedAt)),
    element('AccessedAt', accessed === undefined ? NEVER : isoDate(accessed)),
  ];
}

function messageCount(counts: MessageCounts): Xml {
  return element('MessageCount', String(totalCount(counts)));
}

function countDetails(counts: MessageCounts): Xml {
  return element(
    'CountDetails',
    [
      element('d2p1:ActiveMessageCount', String(counts.active)),
      element('d2p1:DeadLetterMessageCount', String(counts.deadLetter)),
      element('d2p1:ScheduledMessageCount', String(counts.scheduled)),
      element('d2p1:TransferMessageCount', String(counts.transfer)),
      element('d2p1:TransferDeadLetterMessageCount', String(counts.transferDeadLetter)),
    ],
    { 'xmlns:d2p1': NAMESPACE.counts },
  );
}

/** The AccessedAt of an entity that has not been used yet, as in the vendor's service (semantics N25). */
const NEVER = '0001-01-01T00:00:00Z';

const boolean = (name: string, value: boolean): Xml => element(name, String(value));

const duration = (name: string, ms: number | undefined): Xml => element(name, formatDuration(ms));

/** The absolute address of a destination (semantics G16). */
function destination(name: string, to: string | undefined, addressOf: AddressOf): Xml | undefined {
  return to === undefined ? undefined : element(name, addressOf(to));
}
