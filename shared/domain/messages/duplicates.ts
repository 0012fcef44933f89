import { type OutgoingMessage, orderingKeyOf } from './message.ts';

/**
 * What a message is known again by (semantics O1, O2): its MessageId, letter by letter; in a partitioned
 * entity only together with the key that decides its partition. A message whose sender gave it no id
 * cannot come twice.
 */
export function duplicateKeyOf(
  message: OutgoingMessage,
  settings: { readonly enablePartitioning: boolean; readonly requiresSession?: boolean },
): string | undefined {
  const { messageId } = message;
  if (messageId === undefined || !settings.enablePartitioning) return messageId;
  const key = orderingKeyOf(message, settings);
  // The length in front keeps apart what only looks the same once it is joined.
  return key === undefined ? `:${messageId}` : `${key.length}:${key}${messageId}`;
}

/** For each key the place where it stands first; a message without one is the first of its kind. */
export function firstPlaces(keys: readonly (string | undefined)[]): readonly number[] {
  const firsts = new Map<string, number>();
  return keys.map((key, place) => {
    if (key === undefined) return place;
    const first = firsts.get(key) ?? place;
    firsts.set(key, first);
    return first;
  });
}
