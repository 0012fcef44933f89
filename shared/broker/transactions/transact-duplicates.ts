import type { Message } from '../../domain/messages/message.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { isRefused, newMessages, reserve } from '../send/deduplication.ts';
import type { Sending } from './transact-sends.ts';

/**
 * Reserves all messages that a transaction sends, entity by entity. Where `error` is what the transaction failed
 * with, reserves those again whose condition was refused; throws it where it is another failure.
 */
export async function reserveSends(
  dependencies: BrokerDependencies,
  sendings: readonly Sending[],
  error?: unknown,
): Promise<readonly Sending[]> {
  const isRefusal = sendings.some(({ reservation }) => isRefused(error, reservation));
  if (error !== undefined && !isRefusal) throw error;
  const reserved: Sending[] = [];
  for (const sending of sendings) {
    const { detection, reservation: before } = sending;
    const holds = before !== undefined && !isRefused(error, before);
    const messages = messagesOf(sending);
    const reservation = holds ? before : await reserve(dependencies, detection, messages, before);
    reserved.push({ ...sending, reservation });
  }
  return reserved;
}

/** What is left of a send without its duplicates. */
export function withoutDuplicates(sending: Sending): Sending {
  const fresh = new Set(newMessages(messagesOf(sending), sending.reservation));
  return {
    ...sending,
    appended: sending.appended.filter(({ message }) => fresh.has(message)),
    routed: sending.routed.filter((message) => fresh.has(message)),
  };
}

function messagesOf({ appended, routed }: Sending): readonly Message[] {
  return [...appended.map(({ message }) => message), ...routed];
}
