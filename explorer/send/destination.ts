import type { Caller } from '../../client/call.ts';
import { requireEntityPath } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';

/** What decides how a message is sent to an entity. */
export interface Destination {
  readonly kind: 'queue' | 'topic';
  /** A message with an id that it has seen lately is dropped without a word. */
  readonly requiresDuplicateDetection: boolean;
}

/** Reads where messages would go. Throws PathError; RefusalError, as a send does; UnreachableError. */
export async function readDestination(caller: Caller, entity: string): Promise<Destination> {
  requireEntityPath(entity);
  const { text } = await caller.call({ method: 'GET', path: `${entity}/messages/$sender` });
  return JSON.parse(text) as Destination;
}

/** A copy would be dropped. Its message says what to do. */
export class DuplicateError extends Error {
  override readonly name = 'DuplicateError';
}

/** Throws DuplicateError if the entity would drop the copy of a message, because it still has the id of that. */
export function requireNewId(
  to: string,
  { requiresDuplicateDetection }: Destination,
  { system }: ClientMessage,
  messageId: string | undefined,
): void {
  const { MessageId: original } = system;
  if (!requiresDuplicateDetection || original !== messageId) return;
  throw new DuplicateError(
    `${to} detects duplicates: it would drop a copy that has the message id of the original. Write another message id, such as ${messageId}-2.`,
  );
}
