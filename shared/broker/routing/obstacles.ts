import type { Entity } from '../../domain/entities/entity.ts';
import { totalMegabytes } from '../../domain/entities/entity-settings.ts';
import { LIMITS } from '../../domain/limits.ts';
import {
  type DeadLetterReason,
  HEADER_SIZE_EXCEEDED,
  TOO_MANY_HOPS,
} from '../../domain/messages/dead-letter-reasons.ts';
import type { Message } from '../../domain/messages/message.ts';
import { headerSize } from '../../domain/messages/outgoing-rules.ts';
import { text } from '../../domain/messages/property-value.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { isSendable } from '../entity-lookup.ts';

/**
 * The reason why a message cannot be forwarded to any entity; undefined if it can: too many hops, of whichever kind
 * (semantics #122, F13), or too large properties (semantics #38, F12).
 */
export function obstacleFor(message: Message): DeadLetterReason | undefined {
  if ((message.hops ?? 0) >= LIMITS.forwardHops) return TOO_MANY_HOPS;
  if (headerSize(message) > LIMITS.propertiesBytes) return HEADER_SIZE_EXCEEDED;
  return undefined;
}

/**
 * The reason why an entity cannot take `bytes` of forwarded messages; undefined if it can, even if nobody may receive
 * there (semantics F11).
 */
export async function obstacleAt(
  dependencies: BrokerDependencies,
  target: Entity,
  bytes: number,
): Promise<DeadLetterReason | undefined> {
  if (!isSendable(target)) {
    return {
      reason: 'MessagingEntityDisabled',
      description: `The destination '${target.name}' of the transfer is currently disabled.`,
    };
  }
  const { description } = target;
  if (description.kind === 'subscription') return notFound(target.name);
  // A message for a full entity goes to the transfer dead-letter queue and stays there (semantics Q2, #123).
  const limit = totalMegabytes(description) * dependencies.limits.bytesPerMegabyte;
  const { fits } = await dependencies.messages.fitsQuota(target, { bytes, limit });
  if (fits) return undefined;
  return {
    reason: 'QuotaExceeded',
    description: `The destination '${target.name}' of the transfer is full.`,
  };
}

/** The reason for a destination that does not exist or cannot receive messages. */
export function notFound(destination: string): DeadLetterReason {
  return {
    reason: 'MessagingEntityNotFound',
    description: `The destination '${destination}' of the transfer could not be found.`,
  };
}

/** The message as a dead letter with this reason. */
export function withReason(message: Message, { reason, description }: DeadLetterReason): Message {
  const properties = {
    ...message.properties,
    DeadLetterReason: text(reason),
    DeadLetterErrorDescription: text(description),
  };
  return { ...message, properties };
}
