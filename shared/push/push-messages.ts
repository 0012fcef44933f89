import type { LockedMessage } from '../domain/messages/message.ts';
import { callTarget } from './call-target.ts';
import { collect } from './collect.ts';
import { type Current, lockMsOf } from './current-consumer.ts';
import { KeptLocks } from './kept-locks.ts';
import { lookUntilEnd } from './look.ts';
import type { Batch } from './ports.ts';
import { giveBack, withoutRefused } from './settle-batch.ts';
import { divide } from './settlements.ts';
import type { Ending, Tenure } from './tenure.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/**
 * Pushes the messages of a queue without sessions, until none is left or the worker must end. Calls may still be under
 * way then. Throws what a receive throws.
 */
export async function pushMessages(
  dependencies: WorkerDependencies,
  tenure: Tenure,
): Promise<Ending> {
  return await lookUntilEnd(tenure, async (current, look) => {
    const locks = new KeptLocks(dependencies, current.path, lockMsOf(current.entity));
    let messages: readonly LockedMessage[] = [];
    try {
      messages = await collect(dependencies, tenure, {
        current,
        waitMs: tenure.lookMs,
        look,
        onLocked: (locked) => locks.add(locked),
      });
    } finally {
      if (messages.length === 0) locks.end();
    }
    if (messages.length === 0) return false;
    tenure.start(messages, () => pushBatch(dependencies, tenure, current, { messages, locks }));
    return true;
  });
}

/** Pushes messages for which a slot is taken, in as many calls as they take. */
async function pushBatch(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  { entity, consumer }: Current,
  { messages, locks }: { readonly messages: readonly LockedMessage[]; readonly locks: KeptLocks },
): Promise<void> {
  let hasSlot = true;
  const call = async (batch: Batch) => {
    try {
      await callTarget(dependencies, tenure, batch);
    } catch (error) {
      // They stay locked.
      tenure.expectLockEnds(batch);
      throw error;
    } finally {
      locks.drop(batch.messages);
      tenure.freeSlot();
    }
  };
  const calls: Promise<void>[] = [];
  try {
    const all = await withoutRefused(dependencies, tenure, { entity, consumer, messages });
    for (const batch of divide(all)) {
      // The first call has the slot that was taken for the messages.
      const isReady = hasSlot || typeof (await tenure.untilCall()) !== 'string';
      hasSlot = false;
      if (isReady) calls.push(call(batch));
      else await giveBack(dependencies, tenure, batch);
    }
  } finally {
    if (hasSlot) tenure.freeSlot();
    const ended = await Promise.allSettled(calls);
    locks.end();
    for (const one of ended) if (one.status === 'rejected') dependencies.reportFault(one.reason);
  }
}
