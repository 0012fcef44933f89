import type { Settlement } from '../broker/broker.ts';
import { isTransient } from '../domain/broker-error.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { pause } from '../domain/scheduler.ts';
import { pathOfConsumer } from './current-consumer.ts';
import type { Batch, Refusal, Reply } from './ports.ts';
import { PUSH } from './push-limits.ts';
import { deadLettered, type SettledBatch, settlementsAfter, untried } from './settlements.ts';
import type { Tenure } from './tenure.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/** What became of a batch. */
export interface Called {
  /**
   * `untried` = the target was not called, and the messages were given back; `unsettled` = it was called, and some of
   * the messages are still locked.
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
    tenure.pause === undefined &&
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

/** Dead-letters the messages of a batch that no target may get. Returns the batch without them. */
export async function withoutRefused(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
): Promise<Batch> {
  const refused = new Map<LockedMessage, Refusal>();
  for (const message of batch.messages) {
    const refusal = dependencies.targets.refusalOf(message);
    if (refusal !== undefined) refused.set(message, refusal);
  }
  await refuse(dependencies, tenure, batch, refused);
  return { ...batch, messages: batch.messages.filter((message) => !refused.has(message)) };
}

async function refuse(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
  refused: ReadonlyMap<LockedMessage, Refusal>,
): Promise<void> {
  if (refused.size === 0) return;
  const settlements = Array.from(refused, ([{ lockToken }, { reason, description }]) => {
    tenure.failed(description);
    return { lockToken, action: deadLettered(batch, reason, description) };
  });
  await settleAll(dependencies, tenure, batch, settlements);
  if (batch.consumer.subQueue !== 'main') {
    tenure.expect(dependencies.clock.now() + PUSH.deadLetterRetryMs);
  }
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

/** Gives messages back for which no target was called. */
export async function giveBack(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
): Promise<void> {
  await settleAll(dependencies, tenure, batch, untried(batch.messages));
  await wakeOthers(dependencies, tenure, batch);
}

/** Lets other consumers of the queue push what was given back. */
async function wakeOthers(
  dependencies: WorkerDependencies,
  { of }: Tenure,
  { entity }: Batch,
): Promise<void> {
  await dependencies.wakeOthers(entity, of).catch(dependencies.reportFault);
}

/**
 * Settles messages, again and again while the database is busy. What cannot be settled returns when its lock ends; the
 * consumer's state says so. Returns whether all were settled.
 */
async function settleAll(
  { broker, scheduler }: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
  settlements: readonly Settlement[],
): Promise<boolean> {
  const path = pathOfConsumer(batch.entity, batch.consumer);
  let left = settlements;
  let error: unknown;
  for (let tries = 0; left.length > 0 && tries < PUSH.settleTriesMax; tries++) {
    if (tries > 0) await pause(scheduler, PUSH.settlePauseMs * 2 ** tries);
    try {
      const outcomes = await broker.settle(path, left, batch.sessionId);
      const refused = outcomes.map(({ refusal }) => refusal);
      error = refused.find((refusal) => refusal !== undefined);
      left = left.filter((_, i) => isTransient(refused[i]));
    } catch (failure) {
      error = failure;
      if (!isTransient(failure)) break;
    }
  }
  if (error === undefined) return true;
  tenure.failed(`Messages could not be settled: ${textOf(error)}`);
  tenure.expectLockEnds(batch);
  return false;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
