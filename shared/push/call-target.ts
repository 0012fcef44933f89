import type { Batch, Reply } from './ports.ts';
import { giveBack, refuse, settleAll, wakeOthers } from './settle-batch.ts';
import { type SettledBatch, settlementsAfter } from './settlements.ts';
import type { Tenure } from './tenure.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/** What became of a batch. */
export interface Called {
  /**
   * `called` = nothing more is to be done with the messages now; `untried` = the target was not called, and they were
   * given back; `unsettled` = it was called, and some of the messages are still locked.
   */
  readonly kind: 'called' | 'untried' | 'unsettled';
  /** As in `SettledBatch`. */
  readonly delays?: SettledBatch['delays'];
}

/**
 * Calls the target of a batch, for which a slot was taken, and settles its messages. Notes when messages that failed
 * come back. Throws what the writes of the lease throw.
 */
export async function callTarget(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  collected: Batch,
): Promise<Called> {
  // The consumer may have changed while its messages were collected, or waited for a slot.
  const { consumer } = (await tenure.current()) ?? { consumer: undefined };
  const batch = { ...collected, consumer: consumer ?? collected.consumer };
  const isAllowed =
    consumer?.enabled === true &&
    tenure.lease.pause === undefined &&
    tenure.ending(consumer.timeoutMs) === undefined &&
    (await tenure.lease.allowCalls(consumer));
  if (!isAllowed) {
    await giveBack(dependencies, tenure, batch);
    return { kind: 'untried' };
  }
  const reply = await dependencies.targets.call(batch);
  tenure.replied(reply);
  if (reply.kind === 'tooLarge') return await callInParts(dependencies, tenure, batch, reply);
  const { settlements, delays } = settlementsAfter(batch, reply);
  const isSettled = await settleAll(dependencies, tenure, batch, settlements);
  // Not before the settlement, which may take some time: the delays begin with it.
  const now = dependencies.clock.now();
  if (batch.sessionId === undefined && delays !== undefined) {
    await expectAgain(dependencies, tenure, batch, { now, delays });
  }
  if (reply.kind === 'unavailable') {
    await wakeOthers(dependencies, tenure, batch);
    return { kind: 'untried' };
  }
  const kind = isSettled ? 'called' : 'unsettled';
  return { kind, ...(delays === undefined ? {} : { delays }) };
}

/** Calls with each half of a batch that is too large after all; a message alone is dead-lettered. */
async function callInParts(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
  { error }: Extract<Reply, { kind: 'tooLarge' }>,
): Promise<Called> {
  const [first, ...others] = batch.messages;
  if (first === undefined || others.length === 0) {
    const why = { reason: 'MessageTooLargeForTarget', description: error };
    await refuse(dependencies, tenure, batch, new Map(batch.messages.map((one) => [one, why])));
    return { kind: 'called' };
  }
  const half = Math.ceil(batch.messages.length / 2);
  const [front, back] = [batch.messages.slice(0, half), batch.messages.slice(half)];
  const called = await callTarget(dependencies, tenure, { ...batch, messages: front });
  // In a session, what comes after a message that failed waits for it.
  const isOver =
    called.kind !== 'called' || (batch.sessionId !== undefined && called.delays !== undefined);
  const rest = { ...batch, messages: back };
  if (!isOver) return await callTarget(dependencies, tenure, rest);
  await giveBack(dependencies, tenure, rest);
  return called;
}

/** Notes when messages come again; in the database too, if the worker may have ended by then. */
async function expectAgain(
  { remind, settings, reportFault }: WorkerDependencies,
  tenure: Tenure,
  { entity }: Batch,
  { now, delays }: { readonly now: number; readonly delays: readonly number[] },
): Promise<void> {
  for (const delayMs of delays) {
    tenure.expect(now + delayMs);
    if (delayMs <= settings.waitMsMax) continue;
    // The worker notes it once more when it ends.
    await remind(entity, now + delayMs).catch(reportFault);
  }
}
