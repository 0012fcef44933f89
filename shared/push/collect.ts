import type { ReceiveOptions, SessionHandle } from '../broker/broker.ts';
import type { Consumer } from '../domain/consumers/consumer.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { bytesOf, type Current } from './current-consumer.ts';
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
  const { maxBatch, batchWindowMs, timeoutMs } = consumer;
  const receive = async (
    wanted: number,
    signal: AbortSignal,
    waits: { readonly forRateMs: number; readonly forFirstMs: () => number },
  ) => {
    const most = await takeRate(tenure, { wanted, consumer, waitMs: waits.forRateMs, signal });
    if (most === 0) return [];
    const options: ReceiveOptions = {
      mode: 'peekLock',
      maxMessages: most,
      waitMs: waits.forFirstMs(),
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
  const first = { forRateMs: Infinity, forFirstMs: () => waitMs };
  const batch = [...(await receive(maxBatch, look, first))];
  const until = scheduler.now() + Math.min(batchWindowMs, tenure.collectMs(timeoutMs));
  const leftMs = () => until - scheduler.now();
  try {
    for (;;) {
      const isFull = batch.length >= maxBatch || bytesOf(batch) >= settings.claim.bytes;
      if (batch.length === 0 || leftMs() <= 0 || isFull || tenure.signal.aborted) break;
      const waits = { forRateMs: leftMs(), forFirstMs: () => Math.max(0, leftMs()) };
      const more = await receive(maxBatch - batch.length, tenure.signal, waits);
      if (more.length === 0 && leftMs() > 0) break;
      batch.push(...more);
    }
  } catch (error) {
    // What is locked is pushed; there may be more of which no answer told.
    tenure.expectLockEnds(current);
    reportFault(error);
  }
  return batch;
}

interface RateRequest {
  readonly wanted: number;
  readonly consumer: Consumer;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/**
 * Takes up to `wanted` messages from the rate of the consumer, and waits until it allows one. 0 = `waitMs` are over, or
 * `signal` was aborted.
 */
async function takeRate(
  { rate, clock, changes }: Tenure,
  { wanted, consumer: { maxPerSecond }, waitMs, signal }: RateRequest,
): Promise<number> {
  const until = clock.now() + waitMs;
  for (;;) {
    const now = clock.now();
    const taken = rate.take(wanted, maxPerSecond, now);
    if (taken > 0 || signal.aborted || now >= until) return taken;
    await changes.next(Math.min(rate.waitMs(maxPerSecond, now), until - now));
  }
}

function isLocked(message: object): message is LockedMessage {
  return 'lockToken' in message;
}
