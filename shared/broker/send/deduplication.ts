import { type Log, logOf } from '../../domain/blocks/log.ts';
import type { IngressSettings } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { duplicateKeyOf, firstPlaces } from '../../domain/messages/duplicates.ts';
import type { Message, OutgoingMessage } from '../../domain/messages/message.ts';
import type { SentMessage } from '../broker.ts';
import type { BrokerParts } from '../dependencies.ts';

/** How an entity knows the messages of one send again (semantics #77, O2). */
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

/** Sends what a batch does not repeat of itself; the others are answered like the first of their kind. */
export async function withoutRepetitions(
  detection: Detection | undefined,
  messages: readonly Message[],
  send: (messages: readonly Message[]) => Promise<readonly SentMessage[]>,
): Promise<readonly SentMessage[]> {
  if (detection === undefined) return await send(messages);
  const firsts = firstPlaces(messages.map((message) => detection.keys.get(message)));
  const places = [...new Set(firsts)];
  const sent = await send(messages.filter((_, place) => firsts[place] === place));
  const answers = new Map(places.map((place, i) => [place, sent[i]]));
  return messages.map(
    ({ messageId }, place) => answers.get(firsts[place] ?? place) ?? { messageId },
  );
}

/** Stores messages under a guard, if one is needed; returns the numbers they got. */
export type Store = (
  messages: readonly Message[],
  guard: unknown,
) => Promise<readonly (bigint | undefined)[]>;

/**
 * Stores those messages that the entity does not know. Returns the number of each: of a duplicate that
 * of its original.
 */
export async function storeOnce(
  parts: BrokerParts,
  detection: Detection | undefined,
  messages: readonly Message[],
  store: Store,
): Promise<readonly (bigint | undefined)[]> {
  if (detection === undefined) return await store(messages, undefined);
  const { log, windowMs, keys } = detection;
  const candidates = messages.map((message) => ({
    key: keys.get(message),
    scheduledEnqueueAt: message.scheduledEnqueueAt,
    sessionId: message.sessionId,
  }));
  return await parts.messages.storeOnce({ log, windowMs, candidates }, (places, guard) => {
    const chosen = new Set(places);
    return store(
      messages.filter((_, place) => chosen.has(place)),
      guard,
    );
  });
}
