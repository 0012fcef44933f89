import { sequenceNumberOf } from '../../domain/blocks/block.ts';
import { logOf } from '../../domain/blocks/log.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { BrokerParts } from '../dependencies.ts';
import type { DeduplicationCondition, Reservation } from '../ports/duplicates.ts';
import { countingAttempt } from '../routing/copy-account.ts';
import { type Placement, placeAfter } from '../routing/placement.ts';
import { route } from '../routing/route.ts';
import { type Detection, deduplicationRequest, isRefused, newMessages } from './deduplication.ts';

/** A send under way. */
export interface Sending {
  readonly entity: Entity;
  readonly place: Placement;
  readonly detection: Detection | undefined;
  /** Epoch ms: one instant decides for all messages which of them are scheduled. */
  readonly now: number;
}

/** Stores messages in a partition, on a condition; returns their sequence numbers where they have one. */
type Write = (
  parts: BrokerParts,
  sending: Sending,
  to: { readonly partition: number; readonly condition: DeduplicationCondition | undefined },
  messages: readonly Message[],
) => Promise<readonly bigint[]>;

/**
 * Stores the messages of one send by `write`, without those that the entity has accepted before: reserves,
 * writes, confirms. Where another send decided about the same messages first, it reserves again; where the
 * partition fails, it writes to another one. Returns the sequence numbers that are known, those of
 * duplicates being their originals'.
 */
export async function store(
  parts: BrokerParts,
  sending: Sending,
  messages: readonly Message[],
  write: Write,
): Promise<ReadonlyMap<Message, bigint>> {
  const { entity, detection } = sending;
  let { place } = sending;
  const request = detection && deduplicationRequest(detection, messages);
  let reservation = request && (await parts.messages.reserve(request));
  for (;;) {
    const fresh = newMessages(messages, reservation);
    const to = { partition: place.partition, condition: reservation?.condition };
    try {
      const numbers = fresh.length === 0 ? [] : await write(parts, sending, to, fresh);
      if (request && reservation) await parts.messages.confirm(request, reservation);
      return knownNumbers(messages, reservation, fresh, numbers);
    } catch (error) {
      if (request && reservation && isRefused(error, reservation)) {
        reservation = await parts.messages.reserve(request, reservation);
      } else {
        place = placeAfter(parts, entity, place, error);
      }
    }
  }
}

/** Stores messages in the entity itself: at its end, or among its scheduled ones. */
export const append: Write = async (parts, { entity, now }, { partition, condition }, messages) => {
  const log = logOf(entity, 'main', partition);
  const sequences = await parts.messages.append(log, messages, now, condition);
  return sequences.map((sequence) => sequenceNumberOf(partition, sequence));
};

/** Stores messages wherever they go from the entity. They have no numbers that a sender learns. */
export const publish: Write = async (parts, { entity, now }, { partition, condition }, messages) =>
  await countingAttempt(parts, async (counting) => {
    const deliveries = await route(counting, entity, messages, 'sent', partition);
    const owner = logOf(entity, 'main', partition);
    await parts.messages.publish({ owner, deliveries, enqueuedAt: now, condition });
    return [];
  });

function knownNumbers(
  messages: readonly Message[],
  reservation: Reservation | undefined,
  fresh: readonly Message[],
  stored: readonly bigint[],
): ReadonlyMap<Message, bigint> {
  const numbers = new Map<Message, bigint>();
  const note = (message: Message | undefined, number: bigint | undefined) => {
    if (message !== undefined && number !== undefined) numbers.set(message, number);
  };
  for (const [i, message] of fresh.entries()) note(message, stored[i]);
  for (const [i, standing] of reservation?.standings.entries() ?? []) {
    if (standing.kind === 'duplicate') note(messages[i], standing.number);
  }
  return numbers;
}
