import type { Entity } from '../../domain/entities/entity.ts';
import { totalMegabytes } from '../../domain/entities/entity-settings.ts';
import { LIMITS } from '../../domain/limits.ts';
import {
  type DeadLetterReason,
  HEADER_SIZE_EXCEEDED,
  TOO_MANY_HOPS,
} from '../../domain/messages/dead-letter-reasons.ts';
import type { Message } from '../../domain/messages/message.ts';
import { headerSize, messageSize } from '../../domain/messages/outgoing-rules.ts';
import { text } from '../../domain/messages/property-value.ts';
import type { BrokerParts } from '../dependencies.ts';
import { isSendable } from '../entity-lookup.ts';

/** Why a message cannot be sent on to any entity, if so. */
export function obstacleFor(message: Message): DeadLetterReason | undefined {
  if ((message.hops ?? 0) >= LIMITS.forwardHops) return TOO_MANY_HOPS;
  if (headerSize(message) > LIMITS.propertiesBytes) return HEADER_SIZE_EXCEEDED;
  return undefined;
}

/** Why an entity takes none of these messages from another one, if so. */
export async function obstacleAt(
  parts: BrokerParts,
  target: Entity,
  messages: readonly Message[],
): Promise<DeadLetterReason | undefined> {
  if (!isSendable(target)) {
    return {
      reason: 'MessagingEntityDisabled',
      description: `The destination '${target.name}' of the transfer is currently disabled.`,
    };
  }
  const { description } = target;
  if (description.kind === 'subscription') return notFound(target.name);
  const bytes = messages.reduce((sum, message) => sum + messageSize(message), 0);
  const limit = totalMegabytes(description) * parts.limits.bytesPerMegabyte;
  const { isRoom } = await parts.messages.hasRoom(target, { bytes, limit });
  if (isRoom) return undefined;
  return {
    reason: 'QuotaExceeded',
    description: `The destination '${target.name}' of the transfer is full.`,
  };
}

/** The reason for a destination that takes no messages or is not there. */
export function notFound(destination: string): DeadLetterReason {
  return {
    reason: 'MessagingEntityNotFound',
    description: `The destination '${destination}' of the transfer could not be found.`,
  };
}

/** A message that is dead for this reason. */
export function withReason(message: Message, { reason, description }: DeadLetterReason): Message {
  const properties = {
    ...message.properties,
    DeadLetterReason: text(reason),
    DeadLetterErrorDescription: text(description),
  };
  return { ...message, properties };
}
