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
  if (!progress.isStopped()) await tellOfMore(whole, progress, 0n);
}

/** Says from which number on there are more: some came since, or an estimate was too low. */
async function tellOfMore(
  { caller, path }: WholeQueue,
  progress: JobProgress,
  from: bigint,
): Promise<void> {
  const [next] = await peek(caller, path, { from, maxMessages: 1 });
  if (next === undefined) return;
  progress.problem(
    `messages from number ${next.sequenceNumber} on`,
    'They are left: there are more than when this began. Begin once more for them.',
  );
}

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
    const looked = page.slice(0, total - scanned);
    const messages = looked.filter(matches);
    if (progress.isStopped()) return;
    await resubmitOf({ caller, path, messages, inSessions: false }, progress, to);
    scanned += looked.length;
    if (scanned < total) continue;
    const last = looked.at(-1)?.sequenceNumber;
    if (!progress.isStopped())
      await tellOfMore(whole, progress, last === undefined ? 0n : last + 1n);
    return;
  }
}

/** A file with messages, and their numbers. */
export interface Exported {
  readonly file: Blob;
  readonly numbers: ReadonlySet<bigint>;
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
): Promise<Exported | undefined> {
  const parts: Blob[] = [];
  const numbers = new Set<bigint>();
  const skipped = (why: string) => {
    progress.problem('a message', why);
    skip(why);
  };
  for await (const page of readAll(caller, path, { skipped })) {
    if (progress.isStopped()) return undefined;
    // The browser may keep a Blob on disk.
    parts.push(new Blob(page.map(({ text }) => `${text}\n`)));
    for (const { sequenceNumber } of page) numbers.add(sequenceNumber);
    progress.done(page.length);
  }
  return { file: new Blob(parts, { type: 'application/x-ndjson' }), numbers };
}

/** Whether a queue has other messages than those with the known numbers. Looks through all, until it is stopped. */
export async function hasOthers(
  caller: Caller,
  path: ClientPath,
  known: ReadonlySet<bigint>,
  progress: JobProgress,
): Promise<boolean> {
  let isSkipped = false;
  const skipped = () => {
    isSkipped = true;
  };
  for await (const page of readAll(caller, path, { skipped })) {
    if (progress.isStopped()) return false;
    if (page.some(({ sequenceNumber }) => !known.has(sequenceNumber))) return true;
    progress.done(page.length);
  }
  return isSkipped;
}
