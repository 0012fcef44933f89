import type { ReceiveOptions, SessionHandle } from '../broker/broker.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { bytesOf, type Current } from './current.ts';
import type { Tenure } from './tenure.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/** What to collect, and for how long to wait for the first message, ms. */
export interface Collecting {
  readonly current: Current;
  readonly waitMs: number;
  /** Ends the wait for the first message. */
  readonly look?: AbortSignal;
  readonly session?: SessionHandle;
  /** Hears of messages as soon as they are locked. */
  readonly onLocked: (messages: readonly LockedMessage[]) => void;
}

/**
 * Receives the messages of a batch under lock: once there is one, it waits for more until the batch is full or its
 * window is over. Throws what a receive throws, if nothing was received.
 */
export async function collect(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  { current, waitMs, look = tenure.signal, session, onLocked }: Collecting,
): Promise<readonly LockedMessage[]> {
  const { broker, scheduler, settings, reportFault } = dependencies;
  const { path, consumer } = current;
  const { maxBatch, batchWindowMs, maxPerSecond, timeoutMs } = consumer;
  const receive = async (wanted: number, ms: number, signal: AbortSignal) => {
    const most = await takeRate(tenure, wanted, maxPerSecond);
    if (most === 0) return [];
    const options: ReceiveOptions = {
      mode: 'peekLock',
      maxMessages: most,
      waitMs: ms,
      signal,
      session,
      answer: settings.claim,
    };
    let messages: readonly LockedMessage[] = [];
    try {
      messages = (await broker.receive(path, options)).filter(isLocked);
    } finally {
      tenure.rate.giveBack(most - messages.length);
    }
    onLocked(messages);
    return messages;
  };
  const batch = [...(await receive(maxBatch, waitMs, look))];
  const until = scheduler.now() + Math.min(batchWindowMs, tenure.collectMs(timeoutMs));
  try {
    for (;;) {
      const left = until - scheduler.now();
      const isFull = batch.length >= maxBatch || bytesOf(batch) >= settings.claim.bytes;
      if (batch.length === 0 || left <= 0 || isFull || tenure.signal.aborted) break;
      const more = await receive(maxBatch - batch.length, left, tenure.signal);
      if (more.length === 0 && until - scheduler.now() > 0) break;
      batch.push(...more);
    }
  } catch (error) {
    // What is locked is pushed; there may be more of which no answer told.
    tenure.expectLockEnds(current);
    reportFault(error);
  }
  return batch;
}

/** Waits until messages may be pushed, and takes them from the rate; 0 = the worker must end. */
async function takeRate(
  tenure: Tenure,
  wanted: number,
  perSecond: number | undefined,
): Promise<number> {
  for (;;) {
    const taken = tenure.rate.take(wanted, perSecond, tenure.clock.now());
    if (taken > 0 || tenure.signal.aborted) return taken;
    await tenure.changes.next(tenure.rate.waitMs(perSecond, tenure.clock.now()));
  }
}

function isLocked(message: object): message is LockedMessage {
  return 'lockToken' in message;
}
