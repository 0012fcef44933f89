import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { MessageCounts } from '../../../shared/broker/ports/management.ts';
import { formatDuration } from '../../../shared/domain/duration.ts';
import type {
  AuthorizationRule,
  IngressSettings,
  QueueDescription,
  SubscriptionDescription,
  TopicDescription,
} from '../../../shared/domain/entities/descriptions.ts';
import { totalMegabytes } from '../../../shared/domain/entities/entity-settings.ts';
import { NAMESPACE } from './namespaces.ts';
import { element, optional, type Xml } from './write-xml.ts';

/**
 * Writes descriptions with all that is known, settings and runtime properties alike: the clients read
 * either from the same document and refuse one that lacks an element. The order is that of the
 * service's data contract (semantics G12, G13), which some clients depend on.
 */

/** `name` as destinations are shown: an absolute address in this namespace (semantics F1). */
export type AddressOf = (name: string) => string;

/** The description of an entity, as the content of an entry. */
export function writeEntity(report: EntityReport, addressOf: AddressOf): Xml {
  const { description } = report.entity;
  switch (description.kind) {
    case 'queue':
      return describe('QueueDescription', queueElements(description, report, addressOf));
    case 'topic':
      return describe('TopicDescription', topicElements(description, report));
    case 'subscription':
      return describe(
        'SubscriptionDescription',
        subscriptionElements(description, report, addressOf),
      );
  }
}

/** A root element of the service's own namespace, with `i` bound as its clients expect it. */
export function describe(name: string, elements: readonly (Xml | undefined)[]): Xml {
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
    duration('AutoDeleteOnIdle', topic.autoDeleteOnIdleMs),
    boolean('EnablePartitioning', topic.enablePartitioning),
    boolean('IsExpress', topic.enableExpress),
    element('EntityAvailabilityStatus', 'Available'),
    boolean('EnableSubscriptionPartitioning', topic.enableSubscriptionPartitioning),
    boolean('EnableExpress', topic.enableExpress),
    element('MaxMessageSizeInKilobytes', String(topic.maxMessageSizeInKilobytes)),
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

function authorizationRules({ authorizationRules: rules }: IngressSettings): Xml {
  return element('AuthorizationRules', rules.map(authorizationRule));
}

function authorizationRule(rule: AuthorizationRule): Xml {
  return element(
    'AuthorizationRule',
    [
      element('ClaimType', 'SharedAccessKey'),
      element('ClaimValue', 'None'),
      element(
        'Rights',
        rule.rights.map((right) => element('AccessRights', right)),
      ),
      element('CreatedTime', instant(rule.createdAt)),
      element('ModifiedTime', instant(rule.modifiedAt)),
      element('KeyName', rule.keyName),
      element('PrimaryKey', rule.primaryKey),
      element('SecondaryKey', rule.secondaryKey),
    ],
    { 'i:type': 'SharedAccessAuthorizationRule' },
  );
}

function times({ entity, messages }: EntityReport): Elements {
  const accessed = messages.accessedAt;
  return [
    element('CreatedAt', instant(entity.createdAt)),
    element('UpdatedAt', instant(entity.updatedAt)),
    element('AccessedAt', accessed === undefined ? NEVER : instant(accessed)),
  ];
}

/** Messages of every sort together (semantics #155). */
function messageCount(counts: MessageCounts): Xml {
  const { active, deadLetter, scheduled, transfer, transferDeadLetter } = counts;
  return element(
    'MessageCount',
    String(active + deadLetter + scheduled + transfer + transferDeadLetter),
  );
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

/** What the service shows for an entity that nobody has used yet. */
const NEVER = '0001-01-01T00:00:00Z';

/** An instant (epoch ms) as the API writes it. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

const boolean = (name: string, value: boolean): Xml => element(name, String(value));

const duration = (name: string, ms: number | undefined): Xml => element(name, formatDuration(ms));

function destination(name: string, to: string | undefined, addressOf: AddressOf): Xml | undefined {
  return to === undefined ? undefined : element(name, addressOf(to));
}
