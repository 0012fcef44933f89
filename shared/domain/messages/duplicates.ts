import { type OutgoingMessage, orderingKeyOf } from './message.ts';

/**
 * The key by which duplicate detection compares messages (semantics O1, O2): the MessageId, case-sensitive;
 * in a partitioned entity together with the key that decides the partition. Undefined = the sender set no
 * MessageId, so the message is never a duplicate (semantics O3).
 */
export function duplicateKeyOf(
  message: OutgoingMessage,
  settings: { readonly enablePartitioning: boolean; readonly requiresSession?: boolean },
): string | undefined {
  const { messageId } = message;
  if (messageId === undefined || !settings.enablePartitioning) return messageId;
  const key = orderingKeyOf(message, settings);
  // The length in front makes the key unambiguous: without it 'a' + 'bc' and 'ab' + 'c' would be equal.
  return key === undefined ? `:${messageId}` : `${key.length}:${key}${messageId}`;
}

/**
 * The deduplication conditions of these attempts no longer hold: another send has decided about the same
 * messages. Nothing was stored, unless by an earlier try of the same write whose answer was lost: then the
 * next reservation finds the messages.
 */
export class DeduplicationRefused extends Error {
  readonly attempts: readonly string[];

  constructor(attempts: readonly string[]) {
    super('Another send has decided about the same messages.');
    this.name = 'DeduplicationRefused';
    this.attempts = attempts;
  }
}

/** For each key the index of its first occurrence. An absent key counts as unique. */
export function firstOccurrences(keys: readonly (string | undefined)[]): readonly number[] {
  const firsts = new Map<string, number>();
  return keys.map((key, index) => {
    if (key === undefined) return index;
    const first = firsts.get(key) ?? index;
    firsts.set(key, first);
    return first;
  });
}
