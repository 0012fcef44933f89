import { type Log, logOf } from '../../domain/blocks/log.ts';
import type { IngressSettings } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { DeduplicationRefused, duplicateKeyOf } from '../../domain/messages/duplicates.ts';
import type { Message, OutgoingMessage } from '../../domain/messages/message.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { Reservation } from '../ports/duplicates.ts';

/** How an entity detects duplicates among the messages of one send (semantics #77, O2). */
export interface Detection {
  readonly entity: Entity;
  readonly log: Log;
  readonly windowMs: number;
  readonly keys: ReadonlyMap<Message, string>;
}

/**
 * For messages of a sender, not for what a forward, an activation or a resubmission brings (semantics O8, F8).
 * Undefined if the entity detects no duplicates (semantics #80), or if the sender gave no message an id.
 */
export function detectionOf(
  entity: Entity,
  settings: IngressSettings,
  outgoing: readonly OutgoingMessage[],
  messages: readonly Message[],
): Detection | undefined {
  if (!settings.requiresDuplicateDetection) return undefined;
  const keys = new Map<Message, string>();
  for (const [index, message] of messages.entries()) {
    const sent = outgoing[index];
    const key = sent && duplicateKeyOf(sent, settings);
    if (key !== undefined) keys.set(message, key);
  }
  if (keys.size === 0) return undefined;
  const log = logOf(entity, 'main', 0);
  return { entity, log, windowMs: settings.duplicateDetectionMs, keys };
}

/**
 * Reserves messages with different keys. `refused` = the previous reservation, whose condition was refused; `sibling` =
 * another one of the same transaction. Undefined if the entity detects no duplicates.
 */
export async function reserve(
  dependencies: BrokerDependencies,
  detection: Detection | undefined,
  messages: readonly Message[],
  refused?: Reservation,
  sibling?: Reservation,
): Promise<Reservation | undefined> {
  if (detection === undefined) return undefined;
  const { entity, log, windowMs, keys } = detection;
  const candidates = messages.map((message) => ({
    key: keys.get(message),
    scheduledEnqueueAt: message.scheduledEnqueueAt,
    sessionId: message.sessionId,
  }));
  const request = { log, windowMs, candidates };
  const reservation = await dependencies.messages.reserve(request, refused, sibling);
  // A send of duplicates alone is a use as well (semantics V5), which no partition header records.
  if (newMessages(messages, reservation).length === 0) dependencies.activity.used(entity);
  return reservation;
}

/** The messages of a reservation that are new, in order. */
export function newMessages(
  messages: readonly Message[],
  reservation: Reservation | undefined,
): readonly Message[] {
  return messages.filter((_, index) => reservation?.checks[index]?.kind !== 'duplicate');
}

/** Whether a write failed because the condition of this reservation was refused. */
export function isRefused(error: unknown, reservation: Reservation | undefined): boolean {
  const attempt = reservation?.condition?.attempt;
  return (
    error instanceof DeduplicationRefused &&
    attempt !== undefined &&
    error.attempts.includes(attempt)
  );
}
