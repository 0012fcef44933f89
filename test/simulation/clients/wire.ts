import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import type { Management } from '../../../shared/broker/management/management.ts';
import type { Message, OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { text } from '../../../shared/domain/messages/property-value.ts';
import type { Rule } from '../../../shared/filters/rule.ts';
import { Random } from '../machines/random.ts';
import type {
  EntitySpec,
  MessageSpec,
  ReceivableSpec,
  SubscriptionSpec,
} from '../scenario/scenario.ts';

/** Conversions between the data of scenarios and the broker's types. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const BLANK = 0x20;

/** The message to send for a spec; `now` in epoch ms. */
export function toMessage(spec: MessageSpec, now: number): OutgoingMessage {
  const { tag, bytes, colour, sessionId, partitionKey, messageId, timeToLiveMs, delayMs } = spec;
  return {
    body: bodyOf(tag, bytes),
    messageId: messageId ?? tag,
    properties: { colour: text(colour) },
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(partitionKey === undefined ? {} : { partitionKey }),
    ...(timeToLiveMs === undefined ? {} : { timeToLiveMs }),
    ...(delayMs === undefined ? {} : { scheduledEnqueueAt: now + delayMs }),
  };
}

/** A body that begins with the tag. The rest cannot be compressed, so that a large body becomes a payload. */
function bodyOf(tag: string, bytes: number): Uint8Array {
  const head = encoder.encode(`${tag} `);
  if (bytes <= head.byteLength) return head;
  const body = new Uint8Array(bytes);
  body.set(head);
  body.set(new Random(tag).bytes(bytes - head.byteLength), head.byteLength);
  return body;
}

/** The tag of a received message; a message with another body than was sent gets an unknown tag. */
export function tagOf({ body }: Message): string {
  const tag = decoder.decode(body.subarray(0, body.indexOf(BLANK)));
  const isWhole = Buffer.compare(bodyOf(tag, body.byteLength), body) === 0;
  return isWhole ? tag : `${tag} with another body`;
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

/** The settings of an entity, as management expects them. */
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
