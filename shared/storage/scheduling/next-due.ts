import type { Log } from '../../domain/blocks/log.ts';
import {
  lowerNextDue,
  type PartitionHeader,
  raiseNextDue,
  readPartitionHeader,
} from '../append/partition-header.ts';
import { dueSortKey, logKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { type Due, fromDueItem } from './due-times.ts';

/** Keeps the next due time of a log in its partition's header and in the due-work index. */

/** Tries to raise a due time while other processes schedule messages; then it is left to the sweep. */
const RAISE_TRIES_MAX = 4;

/**
 * Raises the next due time to that of the remaining messages, and adds due work for it. If a message is scheduled
 * meanwhile, it looks again: that send may have added due work only for an earlier due time. After a purge the header
 * belongs to the new log and is left alone.
 */
export async function raiseNextDueTime(
  context: StoreContext,
  log: Log,
  seen: PartitionHeader,
): Promise<void> {
  const { table, dueTimes, addDueWork } = context;
  let header = seen;
  for (let tries = 0; tries < RAISE_TRIES_MAX; tries++) {
    // Checked after the header was read, because messages in a new log of the entity are not seen here.
    if (!(await context.isCurrent(log))) return;
    const readAt = dueTimes.now();
    const [next] = await readDueItems(context, log, DUE_MAX, 1);
    // Due work first: once the header is raised, no process would add it.
    if (next !== undefined) await addDueWork(log, next.dueAt);
    if (await raiseNextDue(table, log, header, next?.dueAt)) {
      dueTimes.note(logKey(log), next?.dueAt, readAt);
      return;
    }
    const current = await readPartitionHeader(table, log);
    if (current.nextDueAt !== header.nextDueAt) {
      // Raised by another process, or by an earlier try with an unknown outcome.
      if (current.nextDueAt !== undefined) await addDueWork(log, current.nextDueAt);
      return;
    }
    header = current;
  }
  await addDueWork(log, context.clock.now());
}

/**
 * Stores the earliest due time of a log again. A late write of a send that crashed may have stored a scheduled message
 * without a due time in the header.
 */
export async function restoreNextDueTime(context: StoreContext, log: Log): Promise<void> {
  const [next] = await readDueItems(context, log, DUE_MAX, 1);
  if (next !== undefined) await noteDue(context, log, next.dueAt);
}

const DUE_MAX = 0xffff_ffff_ffff;
const SEQUENCE_MAX = 0xffff_ffff_ffffn;

/** The earliest due times up to an instant, epoch ms. */
export async function readDueItems(
  context: StoreContext,
  log: Log,
  until: number,
  limit: number,
): Promise<readonly Due[]> {
  const { items } = await context.table.query({
    KeyConditionExpression: 'pk = :log AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: {
      ':log': { S: logKey(log) },
      ':from': { S: dueSortKey(0, 0n) },
      ':to': { S: dueSortKey(until, SEQUENCE_MAX) },
    },
    ConsistentRead: true,
    Limit: limit,
  });
  return items.map(fromDueItem);
}

/**
 * Stores the due time of a scheduled message in the header, in this process and in the due-work index. Due work is
 * added for the earliest due time that is still ahead, from which the sweep continues; the process that stored it may
 * have crashed before it added the work. A due time in the past may be a late write without due work.
 */
export async function noteDue(context: StoreContext, log: Log, dueAt: number): Promise<void> {
  const readAt = context.dueTimes.now();
  const nextDueAt = await lowerNextDue(context.table, log, dueAt);
  context.dueTimes.note(logKey(log), nextDueAt, readAt);
  const isAhead = nextDueAt < dueAt && nextDueAt > context.clock.now();
  await context.addDueWork(log, isAhead ? nextDueAt : dueAt);
}
