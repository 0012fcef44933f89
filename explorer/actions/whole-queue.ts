import type { Caller } from '../../client/call.ts';
import type { ClientPath } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import { peek, resubmit } from '../../client/message-calls.ts';
import { readAll } from '../../client/read-all.ts';
import { counted } from '../ui/format.ts';
import { resubmitOf } from './by-number.ts';
import type { JobProgress } from './jobs.ts';

/** Messages of one call: few enough that it ends soon, and that the progress is seen. */
const CALL_MESSAGES = 250;

/** Where to resubmit from and to, and how many dead letters there were at the start. */
export interface WholeQueue {
  readonly caller: Caller;
  readonly path: ClientPath;
  readonly to?: string | undefined;
  /**
   * No more are looked at than there were at the start: a message that is dead-lettered again in the meantime would
   * come round without end.
   */
  readonly total: number;
  /** The number was an estimate. */
  readonly isEstimate?: boolean;
}

/** Resubmits all dead letters. */
export async function resubmitAll(whole: WholeQueue, progress: JobProgress): Promise<void> {
  const { caller, path, to, total } = whole;
  for (let done = 0; done < total && !progress.isStopped(); ) {
    const maxMessages = Math.min(CALL_MESSAGES, total - done);
    const count = await resubmit(caller, path, { maxMessages, to });
    if (count === 0) {
      progress.problem(
        counted(total - done, 'message', 'messages'),
        'What is left stays: it is locked, deferred, gone, or without the session that the queue requires.',
      );
      return;
    }
    done += count;
    progress.done(count);
  }
  await tellOfMore(whole, progress, 0n);
}

/** An estimate may have been too low: says that there are more, from a number on. */
async function tellOfMore(
  { caller, path, isEstimate = false }: WholeQueue,
  progress: JobProgress,
  from: bigint,
): Promise<void> {
  if (!isEstimate || progress.isStopped()) return;
  const more = await peek(caller, path, { from, maxMessages: 1 });
  if (more.length > 0) progress.problem('further messages', MORE);
}

const MORE = 'Their number was an estimate, and there are more: begin once more for those.';

/** Resubmits the dead letters that match. */
export async function resubmitMatching(
  whole: WholeQueue,
  matches: (message: ClientMessage) => boolean,
  progress: JobProgress,
): Promise<void> {
  const { caller, path, to, total } = whole;
  let scanned = 0;
  const skipped = (why: string) => progress.problem('a message', why);
  for await (const page of readAll(caller, path, { skipped })) {
    const messages = page.slice(0, total - scanned).filter(matches);
    if (progress.isStopped()) return;
    await resubmitOf({ caller, path, messages, inSessions: false }, progress, to);
    scanned += page.length;
    if (scanned >= total) {
      await tellOfMore(whole, progress, (page.at(-1)?.sequenceNumber ?? 0n) + 1n);
      return;
    }
  }
}

/**
 * Reads a whole queue into a file, one message a line, as `dynabus export` writes it; undefined if it was stopped.
 * `skip` receives a sentence about each message that no answer can carry.
 */
export async function exportQueue(
  caller: Caller,
  path: ClientPath,
  progress: JobProgress,
  skip: (why: string) => void,
): Promise<Blob | undefined> {
  const parts: Blob[] = [];
  const skipped = (why: string) => {
    progress.problem('a message', why);
    skip(why);
  };
  for await (const page of readAll(caller, path, { skipped })) {
    if (progress.isStopped()) return undefined;
    // The browser may keep a Blob on disk.
    parts.push(new Blob(page.map(({ text }) => `${text}\n`)));
    progress.done(page.length);
  }
  return new Blob(parts, { type: 'application/x-ndjson' });
}
