import type { Log } from '../../domain/blocks/log.ts';
import { dueSortKey, logKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { type Due, fromDueItem } from './due-times.ts';
import { type Head, lowerNextDue, raiseNextDue, readHead } from './partition-header.ts';

/** When the next scheduled message of a log comes due, as its head and the sweep are told. */

/** How often the next due time is raised that others lower meanwhile; then the sweep looks again. */
const RAISE_TRIES_MAX = 4;

/**
 * Raises the next due time to that of what is left, and tells the sweep. Where something is scheduled
 * meanwhile it looks again: whoever scheduled behind a due time that was ahead told the sweep of that one only.
 * Once the log was purged, the head tells of the one that followed it, and is left alone.
 */
export async function raiseDue(context: StoreContext, log: Log, seen: Head): Promise<void> {
  const { table, dueTimes, addDueWork } = context;
  let head = seen;
  for (let tries = 0; tries < RAISE_TRIES_MAX; tries++) {
    // Read after the head: what is scheduled in the log that followed this one is not seen here.
    if (!(await context.isCurrent(log))) return;
    const readAt = dueTimes.now();
    const [next] = await readDues(context, log, DUE_MAX, 1);
    // First the sweep, then the head: once that is raised, nobody comes back to tell the sweep.
    if (next !== undefined) await addDueWork(log, next.dueAt);
    if (await raiseNextDue(table, log, head, next?.dueAt)) {
      dueTimes.note(logKey(log), next?.dueAt, readAt);
      return;
    }
    const current = await readHead(table, log);
    if (current.nextDueAt !== head.nextDueAt) {
      // Raised by another one, or by a try of ours of which nothing was heard.
      if (current.nextDueAt !== undefined) await addDueWork(log, current.nextDueAt);
      return;
    }
    head = current;
  }
  await addDueWork(log, context.clock.now());
}

/**
 * Notes the earliest due time of a log anew. A request of a sender that crashed may have stored a scheduled
 * message late, when nobody expected it any more.
 */
export async function noteEarliestDue(context: StoreContext, log: Log): Promise<void> {
  const [next] = await readDues(context, log, DUE_MAX, 1);
  if (next !== undefined) await noteDue(context, log, next.dueAt);
}

const DUE_MAX = 0xffff_ffff_ffff;
const SEQUENCE_MAX = 0xffff_ffff_ffffn;

/** The earliest due times up to an instant, epoch ms. */
export async function readDues(
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
 * Makes it known, here, to other processes and to the sweep, that a message comes due. The sweep comes for the
 * earliest due time ahead, and goes on from there; whoever put that one down may have ended before telling it. One
 * that is over may be a late write of which it knows nothing.
 */
export async function noteDue(context: StoreContext, log: Log, dueAt: number): Promise<void> {
  const readAt = context.dueTimes.now();
  const nextDueAt = await lowerNextDue(context.table, log, dueAt);
  context.dueTimes.note(logKey(log), nextDueAt, readAt);
  const isAhead = nextDueAt < dueAt && nextDueAt > context.clock.now();
  await context.addDueWork(log, isAhead ? nextDueAt : dueAt);
}
