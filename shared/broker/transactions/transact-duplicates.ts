import type { Message } from '../../domain/messages/message.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { isRefused, newMessages, reserve } from '../send/deduplication.ts';
import type { EntitySend } from './transact-sends.ts';

/**
 * Reserves all messages that a transaction sends, entity by entity. For the first attempt leave `error` out. After a
 * failed one, `error` is its failure: if it refuses conditions of reservations, only those are reserved again; another
 * error is thrown as it is. Each reservation counts its attempts, so this throws ServiceBusy after `CONFLICT_TRIES_MAX`
 * of them at the latest.
 */
export async function reserveSends(
  dependencies: BrokerDependencies,
  sends: readonly EntitySend[],
  error?: unknown,
): Promise<readonly EntitySend[]> {
  const isRefusal = sends.some(({ reservation }) => isRefused(error, reservation));
  if (error !== undefined && !isRefusal) throw error;
  const reserved: EntitySend[] = [];
  for (const send of sends) {
    const { detection, reservation: before } = send;
    const holds = before !== undefined && !isRefused(error, before);
    const messages = messagesOf(send);
    const sibling = reserved.findLast(({ reservation }) => reservation !== undefined)?.reservation;
    const reservation = holds
      ? before
      : await reserve(dependencies, detection, messages, before, sibling);
    reserved.push({ ...send, reservation });
  }
  return reserved;
}

/** A send without its duplicates: a transaction does the rest (semantics O6). */
export function withoutDuplicates(send: EntitySend): EntitySend {
  const fresh = new Set(newMessages(messagesOf(send), send.reservation));
  return {
    ...send,
    appended: send.appended.filter(({ message }) => fresh.has(message)),
    routed: send.routed.filter((message) => fresh.has(message)),
  };
}

function messagesOf({ appended, routed }: EntitySend): readonly Message[] {
  return [...appended.map(({ message }) => message), ...routed];
}
