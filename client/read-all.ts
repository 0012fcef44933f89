import type { Caller } from './call.ts';
import { RefusalError } from './client-errors.ts';
import type { ClientPath } from './entity-path.ts';
import type { ClientMessage } from './message.ts';
import { hasSessions, listSessions, PEEK_MAX, peek } from './message-calls.ts';

/** What to read of an entity, and whom to tell what cannot be read. */
export interface ReadAllOptions {
  /** The lowest number to read; in an entity with sessions, of each session. */
  readonly from?: bigint | undefined;
  /** Reads this session only. */
  readonly sessionId?: string | undefined;
  /** Messages of one call. */
  readonly pageMessages?: number;
  /** Receives a sentence about a message that is left out because no answer can carry it. */
  readonly skipped: (sentence: string) => void;
  /** Called once if the entity has sessions, which are read one after the other. */
  readonly withSessions?: () => void;
}

/** The sentence of a refusal says where to go on after the message that fits into no answer. */
const NEXT_IN_SENTENCE = /fromSequenceNumber=(\d+)/;

/**
 * Reads all messages of an entity or a sub-queue without changing anything, page by page, in the order of their
 * numbers. Of an entity with sessions it reads the sessions that have active messages, each once. Throws RefusalError,
 * UnreachableError and TooManySessionsError.
 */
export async function* readAll(
  client: Caller,
  path: ClientPath,
  options: ReadAllOptions,
): AsyncGenerator<readonly ClientMessage[]> {
  const { sessionId } = options;
  if (sessionId !== undefined || !(await hasSessions(client, path))) {
    yield* readPages(client, path, options, sessionId);
    return;
  }
  options.withSessions?.();
  for await (const id of listSessions(client, path)) yield* readPages(client, path, options, id);
}

async function* readPages(
  client: Caller,
  path: ClientPath,
  { from, pageMessages = PEEK_MAX, skipped }: ReadAllOptions,
  sessionId: string | undefined,
): AsyncGenerator<readonly ClientMessage[]> {
  let next = from;
  let maxMessages = pageMessages;
  for (;;) {
    try {
      const page = await peek(client, path, { from: next, maxMessages, sessionId });
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      next = last.sequenceNumber + 1n;
      maxMessages = pageMessages;
    } catch (error) {
      const after = numberAfterTooLarge(error);
      if (after === undefined || (next !== undefined && after <= next)) throw error;
      if (maxMessages === 1) {
        skipped(`Message ${after - 1n} of ${path.text} is left out: it fits into no answer.`);
        next = after;
        maxMessages = pageMessages;
      } else {
        // It may fit alone.
        maxMessages = 1;
      }
    }
  }
}

/** The number after the message that an answer cannot carry; undefined for other errors. */
function numberAfterTooLarge(error: unknown): bigint | undefined {
  if (!(error instanceof RefusalError) || error.code !== 'MessageSizeExceeded') return undefined;
  const [, digits] = NEXT_IN_SENTENCE.exec(error.message) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}
