import { setTimeout as delay } from 'node:timers/promises';
import { RefusalError } from '../../../client/client-errors.ts';
import { type ClientPath, readPath } from '../../../client/entity-path.ts';
import type { ClientMessage } from '../../../client/message.ts';
import {
  acceptSession,
  type HeldSession,
  receive,
  releaseSession,
  type Settlement,
  settle,
} from '../../../client/message-calls.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, type ExitCode } from '../io.ts';
import { messageText } from '../show-message.ts';
import { messagesText } from '../table.ts';
import { readCount, readDuration } from '../values.ts';

/** The options of `dynabus receive`, as written. */
export interface ReceiveOptions extends CommonOptions {
  readonly count?: string;
  readonly wait?: string;
  readonly mode?: string;
  readonly abandon?: boolean;
  readonly deadLetter?: string | true;
  readonly session?: string;
  readonly anySession?: boolean;
}

/** Messages that are locked at a time, so that few wait for their settlement when the output is slow. */
const PAGE_MESSAGES = 100;
/**
 * The service waits this long in one call. A call is never broken off, since its answer may hold messages that are
 * removed already, so Ctrl-C takes this long at most.
 */
const CALL_WAIT_MS_MAX = 5_000;
/** A wait that the service has cut short is repeated after this pause. */
const PAUSE_MS = 1000;

/** What a receive does, read from the options. */
interface Receiving {
  readonly count: number;
  readonly waitMs: number;
  readonly isDeleting: boolean;
  /** What becomes of a printed message; undefined = nothing. */
  readonly settlement: Settlement | undefined;
}

/** Whether a request was refused because the entity has sessions and none was named. */
function needsSession(error: unknown): boolean {
  return error instanceof RefusalError && error.message.includes('requires sessions');
}

/** Receives messages, prints each, and settles it only then. */
export const runReceive: RunCommand<ReceiveOptions> = async (io, [pathText = ''], options) => {
  const path = readPath(pathText);
  const receiving = readReceiving(options);
  const context = connect(io, options);
  if (options.session === undefined && !options.anySession) {
    try {
      return await receiveAll(context, path, receiving, undefined);
    } catch (error) {
      if (!needsSession(error)) throw error;
      throw new UsageError(
        `${path.text} has sessions: name one with --session, or use --any-session.`,
      );
    }
  }
  const session = await untilDeadline(context, receiving.waitMs, (waitMs) => {
    return acceptSession(context.client, path, { sessionId: options.session, waitMs });
  });
  if (session === undefined) {
    if (context.signal.aborted) return EXIT.interrupted;
    await context.note(`No session with a message in ${path.text}.`);
    return EXIT.done;
  }
  try {
    return await receiveAll(context, path, receiving, session);
  } finally {
    // A released session would lose the locks that --mode peek-lock leaves.
    if (options.mode !== 'peek-lock') await releaseSession(context.client, path, session);
  }
};

function readReceiving(options: ReceiveOptions): Receiving {
  const { mode = 'complete', abandon = false, deadLetter, session, anySession } = options;
  if (!['complete', 'peek-lock', 'delete'].includes(mode)) {
    throw new UsageError(`--mode takes complete, peek-lock or delete, not '${mode}'.`);
  }
  const choices = [options.mode !== undefined, abandon, deadLetter !== undefined];
  if (choices.filter(Boolean).length > 1) {
    throw new UsageError('Give only one of --mode, --abandon and --dead-letter.');
  }
  if (session !== undefined && anySession) {
    throw new UsageError('Give either --session or --any-session.');
  }
  return {
    count: readCount(options.count ?? '1', '--count'),
    waitMs: readDuration(options.wait ?? '5s', '--wait'),
    isDeleting: mode === 'delete',
    settlement: settlementOf(mode, abandon, deadLetter),
  };
}

function settlementOf(
  mode: string,
  abandon: boolean,
  deadLetter: string | true | undefined,
): Settlement | undefined {
  if (abandon) return { outcome: 'abandon' };
  if (deadLetter === true) return { outcome: 'deadLetter' };
  if (deadLetter !== undefined) return { outcome: 'deadLetter', deadLetterReason: deadLetter };
  return mode === 'complete' ? { outcome: 'complete' } : undefined;
}

async function receiveAll(
  context: Context,
  path: ClientPath,
  receiving: Receiving,
  session: HeldSession | undefined,
): Promise<ExitCode> {
  const { count, waitMs: waitMsMax, isDeleting } = receiving;
  let received = 0;
  let lost = 0;
  while (received < count && !context.signal.aborted) {
    const maxMessages = Math.min(PAGE_MESSAGES, count - received);
    const messages = await untilDeadline(context, waitMsMax, async (waitMs) => {
      const request = { maxMessages, waitMs, isDeleting, session };
      const found = await receive(context.client, path, request);
      return found.length === 0 ? undefined : found;
    });
    if (messages === undefined) break;
    received += messages.length;
    lost += await printAndSettle(context, path, messages, receiving, session);
    // An abandoned message is there again at once, and would be received for ever.
    if (receiving.settlement?.outcome === 'abandon') break;
  }
  if (received === 0 && !context.signal.aborted) await context.note(`No message in ${path.text}.`);
  if (context.signal.aborted) return EXIT.interrupted;
  return lost > 0 ? EXIT.failed : EXIT.done;
}

/** Returns how many messages could not be settled. */
async function printAndSettle(
  context: Context,
  path: ClientPath,
  messages: readonly ClientMessage[],
  { settlement }: Receiving,
  session: HeldSession | undefined,
): Promise<number> {
  const tokens = messages.flatMap(({ lockToken }) => lockToken ?? []);
  const settleAll = (how: Settlement) =>
    settle(context.client, path, tokens, how, session?.sessionId);
  try {
    const texts = messages.map((message) => (context.isJson ? message.text : messageText(message)));
    await context.write(texts.join('\n'));
  } catch (error) {
    await notPrinted(context, messages, tokens.length > 0 ? settleAll : undefined);
    throw error;
  }
  if (settlement === undefined) return 0;
  const refusals = await settleAll(settlement);
  for (const { sequenceNumber, lockToken = '' } of messages) {
    const refusal = refusals.get(lockToken);
    if (refusal !== undefined) await context.warn(`Message ${sequenceNumber}: ${refusal}`);
  }
  return refusals.size;
}

/** Gives messages back that may not be printed, or says which ones the service has removed already. */
async function notPrinted(
  context: Context,
  messages: readonly ClientMessage[],
  settleAll: ((how: Settlement) => Promise<unknown>) | undefined,
): Promise<void> {
  if (settleAll !== undefined) {
    // If this fails, too, their locks run out.
    await settleAll({ outcome: 'abandon' }).catch(() => {});
    return;
  }
  const [first, last] = [messages.at(0)?.sequenceNumber, messages.at(-1)?.sequenceNumber];
  await context.warn(
    `Removed by the service and perhaps not printed: ${messagesText(messages.length)}, sequence numbers from ${first} to ${last}.`,
  );
}

/**
 * Repeats a call that waits until it finds something or the time is over: a deployed service waits some seconds only.
 */
async function untilDeadline<Found>(
  { signal }: Context,
  waitMs: number,
  call: (waitMs: number) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const leftMs = Math.max(0, deadline - performance.now());
    const callMs = Math.min(CALL_WAIT_MS_MAX, Math.ceil(leftMs));
    const found = await call(callMs);
    const now = performance.now();
    if (found !== undefined || signal.aborted || now + PAUSE_MS >= deadline) return found;
    const isCutShort = now - (deadline - leftMs) < callMs - PAUSE_MS;
    // Ctrl-C ends the pause.
    if (isCutShort) await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return undefined;
  }
}
