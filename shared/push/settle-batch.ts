import type { Settlement } from '../broker/broker.ts';
import { isTransient } from '../domain/broker-error.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { resultOf } from '../domain/result-of.ts';
import { pause } from '../domain/scheduler.ts';
import { isOver, pathOfConsumer } from './current-consumer.ts';
import type { Batch, Refusal } from './ports.ts';
import { PUSH } from './push-limits.ts';
import { deadLettered, untried } from './settlements.ts';
import type { Tenure } from './tenure.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/** Dead-letters the messages of a batch that no target may get. Returns the batch without them. */
export async function withoutRefused(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
): Promise<Batch> {
  const refused = new Map<LockedMessage, Refusal>();
  for (const message of batch.messages) {
    const refusal = dependencies.targets.refusalOf(message, batch.consumer.subQueue);
    if (refusal !== undefined) refused.set(message, refusal);
  }
  await refuse(dependencies, tenure, batch, refused);
  return { ...batch, messages: batch.messages.filter((message) => !refused.has(message)) };
}

/** Dead-letters messages. Those of a dead-letter queue, where that cannot be done, are put back for an hour. */
export async function refuse(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  batch: Batch,
  refused: ReadonlyMap<LockedMessage, Refusal>,
): Promise<void> {
  if (refused.size === 0) return;
  const isDeadLetter = batch.consumer.subQueue !== 'main';
  const settlements = Array.from(refused, ([{ lockToken }, { reason, description }]) => {
    // In a queue it is no fault: the dead letter says why.
    if (isDeadLetter) tenure.failed(description);
    return { lockToken, action: deadLettered(batch, { reason, description }, PUSH.refusedMs) };
  });
  await settleAll(dependencies, tenure, batch, settlements);
  if (isDeadLetter) tenure.expect(dependencies.clock.now() + PUSH.refusedMs);
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
export async function wakeOthers(
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
export async function settleAll(
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
  if (error === undefined || isOver(error)) return error === undefined;
  const current = await resultOf(tenure.current());
  // A reset has ended the locks, or another entity has the name by now.
  if ('value' in current && current.value === undefined) return false;
  tenure.failed(`Messages could not be settled: ${textOf(error)}`);
  tenure.expectLockEnds(batch);
  return false;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
