import { LIMITS } from '../limits.ts';
import type { Message } from './message.ts';

/** Why the broker dead-letters a message, in the service's exact words (semantics #C6). */
export interface DeadLetterReason {
  readonly reason: string;
  readonly description: string;
}

export const TIME_TO_LIVE_EXPIRED: DeadLetterReason = {
  reason: 'TTLExpiredException',
  description: 'The message expired and was dead lettered.',
};

export const HEADER_SIZE_EXCEEDED: DeadLetterReason = {
  reason: 'HeaderSizeExceeded',
  description: 'The size quota for this stream has been exceeded.',
};

export const SESSION_ID_IS_NULL: DeadLetterReason = {
  reason: 'Session id is null.',
  description: "Session enabled entity doesn't allow a message whose session identifier is null.",
};

export const TOO_MANY_HOPS: DeadLetterReason = {
  reason: 'MaxTransferHopCountExceeded',
  description: `The maximum number of allowed hops when forwarding between queues. Value is set to ${LIMITS.forwardHops}.`,
};

/** The reason for a message that has used up the deliveries that its entity allows. */
export function maxDeliveryExceeded(maxDeliveryCount: number): DeadLetterReason {
  return {
    reason: 'MaxDeliveryCountExceeded',
    description: `Message could not be consumed after ${maxDeliveryCount} delivery attempts.`,
  };
}

/** The message as it was before it was dead-lettered: without the reason, its description and the source. */
export function withoutDeadLettering(message: Message): Message {
  const { deadLetterSource: _, ...rest } = message;
  const {
    DeadLetterReason: __,
    DeadLetterErrorDescription: ___,
    ...properties
  } = message.properties;
  return { ...rest, properties };
}
