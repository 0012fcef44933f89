import { type Log, logOf } from '../../domain/blocks/log.ts';
import type { IngressSettings } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { DeduplicationRefused, duplicateKeyOf } from '../../domain/messages/duplicates.ts';
import type { Message, OutgoingMessage } from '../../domain/messages/message.ts';
import type { DeduplicationRequest, Reservation } from '../ports/duplicates.ts';

/** How an entity detects duplicates among the messages of one send (semantics #77, O2). */
export interface Detection {
  readonly log: Log;
  readonly windowMs: number;
  readonly keys: ReadonlyMap<Message, string>;
}

/** Nothing where the entity detects no duplicates, or where the sender gave no message an id. */
export function detectionOf(
  entity: Entity,
  settings: IngressSettings,
  outgoing: readonly OutgoingMessage[],
  messages: readonly Message[],
): Detection | undefined {
  if (!settings.requiresDuplicateDetection) return undefined;
  const keys = new Map<Message, string>();
  for (const [place, message] of messages.entries()) {
    const sent = outgoing[place];
    const key = sent && duplicateKeyOf(sent, settings);
    if (key !== undefined) keys.set(message, key);
  }
  if (keys.size === 0) return undefined;
  const log = logOf(entity, 'main', 0);
  return { log, windowMs: settings.duplicateDetectionMs, keys };
}

/** What the store is asked about messages before they are stored. No two of them have the same key. */
export function deduplicationRequest(
  { log, windowMs, keys }: Detection,
  messages: readonly Message[],
): DeduplicationRequest {
  const candidates = messages.map((message) => ({
    key: keys.get(message),
    scheduledEnqueueAt: message.scheduledEnqueueAt,
    sessionId: message.sessionId,
  }));
  return { log, windowMs, candidates };
}

/** The messages of a reservation that are new, in order; all where the entity detects no duplicates. */
export function newMessages(
  messages: readonly Message[],
  reservation: Reservation | undefined,
): readonly Message[] {
  if (reservation === undefined) return messages;
  return messages.filter((_, place) => reservation.standings[place]?.kind === 'new');
}

/** Whether a write failed because the condition of this reservation was refused. */
export function isRefused(error: unknown, { condition }: Reservation): boolean {
  return (
    error instanceof DeduplicationRefused &&
    condition !== undefined &&
    error.attempts.includes(condition.attempt)
  );
}
