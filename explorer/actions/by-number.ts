import type { Caller } from '../../client/call.ts';
import { RefusalError } from '../../client/client-errors.ts';
import type { ClientPath } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import {
  cancelScheduled,
  NUMBERS_MAX,
  type NumberedOperation,
  operate,
  peek,
  resubmit,
} from '../../client/message-calls.ts';
import { mayHaveTakenEffect } from '../api/effect.ts';
import { counted } from '../ui/format.ts';
import type { JobProgress } from './jobs.ts';

/** Messages of one queue, and who changes them. */
export interface Chosen {
  readonly caller: Caller;
  readonly path: ClientPath;
  readonly messages: readonly ClientMessage[];
  /** Whether messages are named together with their session. */
  readonly inSessions: boolean;
  /** Is told which messages were changed, after each call. */
  readonly changed?: (messages: readonly ClientMessage[]) => void;
  /** Is told of messages that may be changed or not, since the answer was lost or says so. */
  readonly unclear?: (messages: readonly ClientMessage[]) => void;
}

/** Why an operation changes nothing, by its name. */
const WHY_NOT: Readonly<Record<NumberedOperation, string>> = {
  breakLock: 'It is not locked, or not there any more.',
  reactivate: 'It is not deferred any more.',
  deadLetter: 'It is locked, scheduled, or not there any more.',
  delete: 'It is locked, or not there any more.',
};

/** Operates on messages one call after the other; tells of each message that was not changed why. */
export async function operateOn(
  chosen: Chosen,
  operation: NumberedOperation,
  progress: JobProgress,
  options: {
    readonly deadLetterReason?: string;
    readonly deadLetterErrorDescription?: string;
  } = {},
): Promise<void> {
  for (const { sessionId, messages } of batchesOf(chosen)) {
    if (progress.isStopped()) break;
    const sequenceNumbers = numbersOf(messages);
    const request = { ...options, sequenceNumbers, sessionId };
    const done = await noting(chosen, messages, () =>
      operate(chosen.caller, chosen.path, operation, request),
    );
    chosen.changed?.(messages.filter(({ sequenceNumber }) => done.has(sequenceNumber)));
    for (const message of messages) {
      if (!done.has(message.sequenceNumber)) progress.problem(nameOf(message), WHY_NOT[operation]);
    }
    progress.done(done.size);
  }
}

/** Cancels scheduled messages. A call cancels all of its messages or none, so a refused one is tried singly. */
export async function cancel(chosen: Chosen, progress: JobProgress): Promise<void> {
  const { caller, path, changed } = chosen;
  for (const { messages } of batchesOf({ ...chosen, inSessions: false })) {
    if (progress.isStopped()) break;
    try {
      await noting(chosen, messages, () => cancelScheduled(caller, path, numbersOf(messages)));
      changed?.(messages);
      progress.done(messages.length);
    } catch (error) {
      if (!isOfMessages(error)) throw error;
      for (const message of messages) {
        if (progress.isStopped()) break;
        try {
          await noting(chosen, [message], () =>
            cancelScheduled(caller, path, [message.sequenceNumber]),
          );
          changed?.([message]);
          progress.done(1);
        } catch (refusal) {
          if (!isOfMessages(refusal)) throw refusal;
          progress.problem(nameOf(message), refusal.message);
        }
      }
    }
  }
}

/** Resubmits dead letters, to their queue or `to` another entity; tells of each message that stays why. */
export async function resubmitOf(
  chosen: Chosen,
  progress: JobProgress,
  to?: string,
): Promise<void> {
  const { caller, path } = chosen;
  for (const { messages } of batchesOf({ ...chosen, inSessions: false })) {
    if (progress.isStopped()) break;
    const done = await resubmitSome(caller, path, messages, to);
    if (done === messages.length) progress.done(done);
    else await resubmitSingly(chosen, messages, { done, to, progress });
  }
}

/** How many of the messages were resubmitted; 0 where the destination refuses all of them. */
async function resubmitSome(
  caller: Caller,
  path: ClientPath,
  messages: readonly ClientMessage[],
  to: string | undefined,
): Promise<number> {
  try {
    return await resubmit(caller, path, { sequenceNumbers: numbersOf(messages), to });
  } catch (error) {
    if (isOfMessages(error)) return 0;
    throw error;
  }
}

/** A call that resubmits some of its messages does not say which: those that are still there are tried singly. */
async function resubmitSingly(
  { caller, path }: Chosen,
  messages: readonly ClientMessage[],
  {
    done,
    to,
    progress,
  }: { readonly done: number; readonly to: string | undefined; readonly progress: JobProgress },
): Promise<void> {
  progress.done(done);
  let gone = 0;
  for (const message of messages) {
    if (progress.isStopped()) return;
    const { sequenceNumber } = message;
    const [first] = await peek(caller, path, { from: sequenceNumber, maxMessages: 1 });
    if (first?.sequenceNumber !== sequenceNumber) {
      gone++;
      continue;
    }
    try {
      const count = await resubmit(caller, path, { sequenceNumbers: [sequenceNumber], to });
      progress.done(count);
      if (count === 0) {
        progress.problem(
          nameOf(message),
          'It stays: it is locked or deferred, or it has no session, which the queue requires.',
        );
      }
    } catch (error) {
      if (!isOfMessages(error)) throw error;
      progress.problem(nameOf(message), error.message);
    }
  }
  // Those that the first call has resubmitted are gone, too, and nobody knows which.
  const others = gone - done;
  if (others > 0) {
    const why = others === 1 ? 'It is not there any more.' : 'They are not there any more.';
    progress.problem(counted(others, 'message', 'messages'), why);
  }
}

/** Does a call, and tells of its messages if an error leaves open what it has done. */
async function noting<Result>(
  { unclear }: Chosen,
  messages: readonly ClientMessage[],
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (mayHaveTakenEffect(error)) unclear?.(messages);
    throw error;
  }
}

/** Whether a refusal is about the messages of a call, so that others may go. */
function isOfMessages(error: unknown): error is RefusalError {
  return (
    error instanceof RefusalError &&
    [
      'MessageNotFound',
      'InvalidOperation',
      'MessageSizeExceeded',
      'NoMatchingSubscription',
    ].includes(error.code)
  );
}

/** The messages of one call. */
interface Batch {
  readonly sessionId: string | undefined;
  readonly messages: readonly ClientMessage[];
}

function batchesOf({ messages, inSessions }: Chosen): readonly Batch[] {
  const bySession = new Map<string | undefined, ClientMessage[]>();
  for (const message of messages) {
    const { SessionId: id } = message.system;
    const sessionId = inSessions && typeof id === 'string' ? id : undefined;
    const before = bySession.get(sessionId);
    if (before === undefined) bySession.set(sessionId, [message]);
    else before.push(message);
  }
  return [...bySession].flatMap(([sessionId, all]) =>
    Array.from({ length: Math.ceil(all.length / NUMBERS_MAX) }, (_, i) => ({
      sessionId,
      messages: all.slice(i * NUMBERS_MAX, (i + 1) * NUMBERS_MAX),
    })),
  );
}

function numbersOf(messages: readonly ClientMessage[]): readonly bigint[] {
  return messages.map(({ sequenceNumber }) => sequenceNumber);
}

function nameOf({ sequenceNumber }: ClientMessage): string {
  return `message ${sequenceNumber}`;
}
