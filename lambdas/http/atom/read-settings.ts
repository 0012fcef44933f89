import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import type { AuthorizationRuleInput } from '../../../shared/domain/entities/authorization-rules.ts';
import type { AccessRight, EntityStatus } from '../../../shared/domain/entities/descriptions.ts';
import { trimSlashes } from '../../../shared/domain/entities/entity-path.ts';
import {
  destinationName,
  forwardingToItself,
  isAddress,
} from '../../../shared/domain/entities/forwarding-settings.ts';
import { present } from '../../../shared/domain/present.ts';
import { ElementFields } from './fields.ts';
import { readRule } from './read-rule.ts';
import type { XmlElement } from './xml.ts';

const STATUSES = [
  'Active',
  'Disabled',
  'SendDisabled',
  'ReceiveDisabled',
] as const satisfies readonly EntityStatus[];
const RIGHTS = ['Send', 'Listen', 'Manage'] as const satisfies readonly AccessRight[];

/** Reads the settings of the queue at `path` from a `QueueDescription`. Throws ArgumentError. */
export function readQueue(element: XmlElement, path: string): EntitySettings {
  const fields = new ElementFields(element);
  return {
    kind: 'queue',
    ...commonSettings(fields),
    ...ingressSettings(fields),
    ...deliverySettings(fields, path),
  };
}

/** Reads the settings of a topic from a `TopicDescription`. Throws ArgumentError. */
export function readTopic(element: XmlElement): EntitySettings {
  const fields = new ElementFields(element);
  return {
    kind: 'topic',
    ...commonSettings(fields),
    ...ingressSettings(fields),
    ...present({
      filteringMessagesBeforePublishing: fields.boolean('FilteringMessagesBeforePublishing'),
      enableSubscriptionPartitioning: fields.boolean('EnableSubscriptionPartitioning'),
    }),
  };
}

/**
 * Reads the settings of the subscription at `path` from a `SubscriptionDescription`. Throws ArgumentError.
 */
export function readSubscription(element: XmlElement, path: string): EntitySettings {
  const fields = new ElementFields(element);
  const rule = fields.child('DefaultRuleDescription');
  return {
    kind: 'subscription',
    ...commonSettings(fields),
    ...deliverySettings(fields, path),
    ...present({
      deadLetteringOnFilterEvaluationExceptions: fields.boolean(
        'DeadLetteringOnFilterEvaluationExceptions',
      ),
      defaultRule: rule === undefined ? undefined : readRule(rule),
    }),
  };
}

function commonSettings(fields: ElementFields) {
  return present({
    defaultTimeToLiveMs: unlimitedAsAbsent(fields.duration('DefaultMessageTimeToLive')),
    autoDeleteOnIdleMs: unlimitedAsAbsent(fields.duration('AutoDeleteOnIdle')),
    enableBatchedOperations: fields.boolean('EnableBatchedOperations'),
    status: fields.oneOf('Status', STATUSES),
    userMetadata: fields.text('UserMetadata'),
  });
}

function ingressSettings(fields: ElementFields) {
  return present({
    maxSizeInMegabytes: fields.integer('MaxSizeInMegabytes'),
    requiresDuplicateDetection: fields.boolean('RequiresDuplicateDetection'),
    duplicateDetectionMs: fields.duration('DuplicateDetectionHistoryTimeWindow'),
    authorizationRules: readAuthorizationRules(fields),
    supportOrdering: fields.boolean('SupportOrdering'),
    enablePartitioning: fields.boolean('EnablePartitioning'),
    enableExpress: fields.boolean('EnableExpress'),
    isAnonymousAccessible: fields.boolean('IsAnonymousAccessible'),
    maxMessageSizeInKilobytes: fields.integer('MaxMessageSizeInKilobytes'),
  });
}

function deliverySettings(fields: ElementFields, path: string) {
  return present({
    lockMs: fields.duration('LockDuration'),
    requiresSession: fields.boolean('RequiresSession'),
    deadLetteringOnMessageExpiration: fields.boolean('DeadLetteringOnMessageExpiration'),
    maxDeliveryCount: fields.integer('MaxDeliveryCount'),
    forwardTo: destination(fields, 'ForwardTo', path),
    forwardDeadLetteredMessagesTo: destination(fields, 'ForwardDeadLetteredMessagesTo', path),
  });
}

/** Settings represent an unlimited duration by its absence. */
function unlimitedAsAbsent(ms: number | undefined): number | undefined {
  return ms === Infinity ? undefined : ms;
}

/**
 * Reads a destination: the name of an entity, or its absolute address (semantics F1, #126). The service refuses the
 * entity itself as its own destination by name, but not by address.
 */
function destination(fields: ElementFields, element: string, ownPath: string): string | undefined {
  const text = fields.text(element);
  const name = text === undefined ? undefined : destinationName(text, element);
  if (text === undefined || name === undefined) return undefined;
  if (!isAddress(text) && name.toLowerCase() === trimSlashes(ownPath).toLowerCase()) {
    throw forwardingToItself({ name: ownPath }, name);
  }
  return name;
}

function readAuthorizationRules(
  fields: ElementFields,
): readonly AuthorizationRuleInput[] | undefined {
  const list = fields.child('AuthorizationRules');
  return list && new ElementFields(list).children('AuthorizationRule').map(readAuthorizationRule);
}

function readAuthorizationRule(element: XmlElement): AuthorizationRuleInput {
  const fields = new ElementFields(element);
  const rights = fields.child('Rights');
  return {
    keyName: fields.text('KeyName') ?? '',
    rights:
      rights === undefined ? [] : new ElementFields(rights).children('AccessRights').map(readRight),
    ...present({
      primaryKey: fields.text('PrimaryKey'),
      secondaryKey: fields.text('SecondaryKey'),
    }),
  };
}

function readRight({ text }: XmlElement): AccessRight {
  const right = RIGHTS.find((each) => each === text.trim());
  if (right !== undefined) return right;
  throw argumentError(
    `The access right '${text.slice(0, 64)}' is not one of ${RIGHTS.join(', ')}.`,
  );
}
