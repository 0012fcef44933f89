import type { Message } from '../../domain/messages/message.ts';
import type { BrokerParts } from '../dependencies.ts';
import type { DeduplicationRequest, Reservation } from '../ports/duplicates.ts';
import { deduplicationRequest, isRefused, newMessages } from '../send/deduplication.ts';
import type { Sending } from './transact-sends.ts';

/** A transaction's sends to one entity, and which of them it has not accepted before. */
export interface ReservedSending {
  readonly sending: Sending;
  /** Where the entity detects duplicates. */
  readonly reserved?: { readonly request: DeduplicationRequest; readonly reservation: Reservation };
}

/** Reserves the messages of all sends, entity by entity. */
export async function reserveSends(
  parts: BrokerParts,
  sendings: readonly Sending[],
): Promise<readonly ReservedSending[]> {
  const all: ReservedSending[] = [];
  for (const sending of sendings) {
    const { detection } = sending;
    if (detection === undefined) all.push({ sending });
    else {
      const request = deduplicationRequest(detection, messagesOf(sending));
      const reservation = await parts.messages.reserve(request);
      all.push({ sending, reserved: { request, reservation } });
    }
  }
  return all;
}

/** Reserves anew where `error` says that a condition was refused; throws it where it says something else. */
export async function reserveAgain(
  parts: BrokerParts,
  sendings: readonly ReservedSending[],
  error: unknown,
): Promise<readonly ReservedSending[]> {
  const all: ReservedSending[] = [];
  let isAnyRefused = false;
  for (const one of sendings) {
    const { sending, reserved } = one;
    if (reserved === undefined || !isRefused(error, reserved.reservation)) {
      all.push(one);
      continue;
    }
    isAnyRefused = true;
    const { request } = reserved;
    const reservation = await parts.messages.reserve(request, reserved.reservation);
    all.push({ sending, reserved: { request, reservation } });
  }
  if (!isAnyRefused) throw error;
  return all;
}

/** Completes what the senders of the duplicates' originals may have left undone. */
export async function confirmSends(
  parts: BrokerParts,
  sendings: readonly ReservedSending[],
): Promise<void> {
  for (const { reserved } of sendings) {
    if (reserved !== undefined) {
      await parts.messages.confirm(reserved.request, reserved.reservation);
    }
  }
}

/** What is left of a send without its duplicates. */
export function withoutDuplicates({ sending, reserved }: ReservedSending): Sending {
  if (reserved === undefined) return sending;
  const fresh = new Set(newMessages(messagesOf(sending), reserved.reservation));
  return {
    ...sending,
    appended: sending.appended.filter(({ message }) => fresh.has(message)),
    routed: sending.routed.filter((message) => fresh.has(message)),
  };
}

function messagesOf({ appended, routed }: Sending): readonly Message[] {
  return [...appended.map(({ message }) => message), ...routed];
}
