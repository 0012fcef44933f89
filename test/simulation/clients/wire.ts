import type { EntitySettings, Management } from '../../../shared/broker/management.ts';
import type { Message, OutgoingMessage } from '../../../shared/domain/message.ts';
import { text } from '../../../shared/domain/property-value.ts';
import type { Rule } from '../../../shared/filters/rule.ts';
import type {
  EntitySpec,
  MessageSpec,
  ReceivableSpec,
  SubscriptionSpec,
} from '../scenario/scenario.ts';

/** How scenarios are told to the broker, and what it hands out is read. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A message as a client hands it over at an instant, epoch ms. */
export function toMessage(spec: MessageSpec, now: number): OutgoingMessage {
  const { tag, bytes, colour, sessionId, partitionKey, messageId, timeToLiveMs, delayMs } = spec;
  return {
    body: encoder.encode(`${tag} `.padEnd(bytes, '.')),
    messageId: messageId ?? tag,
    properties: { colour: text(colour) },
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(partitionKey === undefined ? {} : { partitionKey }),
    ...(timeToLiveMs === undefined ? {} : { timeToLiveMs }),
    ...(delayMs === undefined ? {} : { scheduledEnqueueAt: now + delayMs }),
  };
}

/** The tag of a message that came back. */
export function tagOf({ body }: Message): string {
  const words = decoder.decode(body);
  return words.slice(0, words.indexOf(' '));
}

/** Creates an entity. */
export async function createEntity(management: Management, spec: EntitySpec): Promise<void> {
  const settings = settingsOf(spec);
  await management.create(
    spec.path,
    spec.kind === 'subscription' && settings.kind === 'subscription'
      ? { ...settings, defaultRule: ruleOf(spec) }
      : settings,
  );
}

/** The settings of an entity, as management takes them. */
export function settingsOf(spec: EntitySpec): EntitySettings {
  switch (spec.kind) {
    case 'topic':
      return { kind: 'topic', ...ingressOf(spec) };
    case 'queue':
      return { kind: 'queue', ...ingressOf(spec), ...deliveryOf(spec) };
    case 'subscription':
      return { kind: 'subscription', ...deliveryOf(spec) };
  }
}

function ingressOf({ partitioned, detectionMs }: Exclude<EntitySpec, SubscriptionSpec>) {
  return {
    enablePartitioning: partitioned,
    ...(detectionMs === undefined
      ? {}
      : { requiresDuplicateDetection: true, duplicateDetectionMs: detectionMs }),
  };
}

function deliveryOf(spec: ReceivableSpec) {
  return {
    lockMs: spec.lockMs,
    maxDeliveryCount: spec.maxDeliveryCount,
    requiresSession: spec.requiresSession,
    deadLetteringOnMessageExpiration: spec.deadLettersExpired,
    ...(spec.defaultTimeToLiveMs === undefined
      ? {}
      : { defaultTimeToLiveMs: spec.defaultTimeToLiveMs }),
    ...(spec.forwardTo === undefined ? {} : { forwardTo: spec.forwardTo }),
    ...(spec.forwardDeadLettersTo === undefined
      ? {}
      : { forwardDeadLetteredMessagesTo: spec.forwardDeadLettersTo }),
  };
}

function ruleOf({ filter }: SubscriptionSpec): Omit<Rule, 'createdAt'> {
  return {
    name: '$Default',
    filter:
      filter === 'all'
        ? { kind: 'true' }
        : { kind: 'correlation', properties: { colour: text(filter) } },
  };
}
