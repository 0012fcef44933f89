import type { Clock } from '../../../shared/domain/clock.ts';
import type { Batch, Reply, Targets } from '../../../shared/push/ports.ts';
import { readAnswer } from '../answer/read-answer.ts';
import { HOPS_MAX, hasTooManyHops } from '../event/hops.ts';
import { printEvent } from '../event/print-event.ts';
import type { EventOrigin } from '../event/record.ts';

/** What a target has answered, unread, or why it has not. */
export type RawReply =
  | { readonly kind: 'answer'; readonly bytes: Uint8Array }
  | Extract<Reply, { readonly error: string }>;

/** Hands an event to the target of a batch. Ends in time. */
export type SendEvent = (batch: Batch, event: string) => Promise<RawReply>;

interface EventTargetOptions {
  readonly origin: EventOrigin;
  readonly clock: Clock;
}

const TOO_MANY_HOPS = {
  reason: 'TooManyHops',
  description: `The message has passed at least ${HOPS_MAX} targets: one of them probably sends what it gets to a queue from which it gets it again.`,
};

/**
 * Targets that get a batch as one event and answer with its failures. A batch whose event is too long is not sent.
 */
export function eventTargets({ origin, clock }: EventTargetOptions, send: SendEvent): Targets {
  return {
    refusalOf: ({ message }, subQueue) =>
      hasTooManyHops(message, subQueue) ? TOO_MANY_HOPS : undefined,
    async call(batch) {
      try {
        const event = printEvent(batch, { ...origin, now: clock.now() });
        if (event === undefined) return tooLarge(batch);
        const raw = await send(batch, event);
        return raw.kind === 'answer' ? readAnswer(raw.bytes, batch) : raw;
      } catch (error) {
        return { kind: 'failed', error: String(error) };
      }
    },
  };
}

function tooLarge({ messages }: Batch): Reply {
  const what = messages.length === 1 ? 'The message takes' : `${messages.length} messages take`;
  return { kind: 'tooLarge', error: `${what} more bytes than the event of one call may have.` };
}
