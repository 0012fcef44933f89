import { sequenceNumberOf } from '../../domain/blocks/block.ts';
import { logOf } from '../../domain/blocks/log.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { DeduplicationCondition } from '../ports/duplicates.ts';
import { countingAttempt } from '../routing/copy-account.ts';
import { type Placement, placeAfter } from '../routing/placement.ts';
import { route } from '../routing/route.ts';
import { type Detection, isRefused, newMessages, reserve } from './deduplication.ts';

/** The state of one send. */
export interface Sending {
  readonly entity: Entity;
  readonly placement: Placement;
  readonly detection: Detection | undefined;
  /** Epoch ms: one instant decides for all messages which of them are scheduled. */
  readonly now: number;
}

/** Stores messages in a partition, on a condition; returns their sequence numbers if the sender gets them. */
type Write = (
  dependencies: BrokerDependencies,
  sending: Sending,
  to: { readonly partition: number; readonly condition: DeduplicationCondition | undefined },
  messages: readonly Message[],
) => Promise<readonly bigint[]>;

/**
 * Stores the messages of one send by `write`, without duplicates: it reserves, writes and confirms. If another send has
 * decided about the same messages first, it reserves again; if the partition fails, it writes to another one. Both are
 * bounded by what they call: `reserve` throws ServiceBusy after `CONFLICT_TRIES_MAX` tries, and `placeAfter` throws the
 * error after `TRIES_MAX` partitions. Returns the known sequence numbers; a duplicate has its original's, and scheduled
 * messages are compared now (semantics #81).
 */
export async function store(
  dependencies: BrokerDependencies,
  sending: Sending,
  messages: readonly Message[],
  write: Write,
): Promise<ReadonlyMap<Message, bigint | undefined>> {
  const { entity, detection } = sending;
  let { placement } = sending;
  let reservation = await reserve(dependencies, detection, messages);
  for (;;) {
    const fresh = newMessages(messages, reservation);
    const to = { partition: placement.partition, condition: reservation?.condition };
    try {
      const stored = fresh.length === 0 ? [] : await write(dependencies, sending, to, fresh);
      if (reservation !== undefined) await dependencies.messages.confirm(reservation);
      const numbers = new Map(fresh.map((message, i) => [message, stored[i]]));
      for (const [i, message] of messages.entries()) {
        const check = reservation?.checks[i];
        if (check?.kind === 'duplicate') numbers.set(message, check.number);
      }
      return numbers;
    } catch (error) {
      if (isRefused(error, reservation)) {
        reservation = await reserve(dependencies, detection, messages, reservation);
      } else {
        placement = placeAfter(dependencies, entity, placement, error);
      }
    }
  }
}

/** Stores messages in the entity itself: at its end, or among its scheduled ones. */
export const append: Write = async (dependencies, { entity, now }, to, messages) => {
  const { partition, condition } = to;
  const log = logOf(entity, 'main', partition);
  const sequences = await dependencies.messages.append(log, messages, now, condition);
  return sequences.map((sequence) => sequenceNumberOf(partition, sequence));
};

/**
 * Stores messages in their destinations: those that are no duplicates (semantics O4, O5). The sender gets no sequence
 * numbers.
 */
export const publish: Write = async (dependencies, { entity, now }, to, messages) =>
  await countingAttempt(dependencies, async (counting) => {
    const batches = await route(counting, entity, messages, 'sent', to.partition);
    const owner = logOf(entity, 'main', to.partition);
    const { condition } = to;
    await dependencies.messages.publish({ owner, batches, enqueuedAt: now, condition });
    return [];
  });
