import type { MessageStore } from '../broker/ports/messages.ts';
import { bindAll } from '../domain/bind-all.ts';
import { type Log, withoutSession } from '../domain/blocks/log.ts';
import type { LogPolicy } from '../domain/blocks/log-policy.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { Message } from '../domain/messages/message.ts';
import { append } from './append/append.ts';
import { takeNumbers } from './append/partition-header.ts';
import { fitsQuota } from './append/quota.ts';
import { sizeOf } from './blocks/pack-blocks.ts';
import { claim } from './claim/claim.ts';
import { receiveDeferred } from './claim/deferred.ts';
import { confirm, reserve } from './duplicates/deduplicate.ts';
import { afterStoring, beforeStoring } from './dynamodb/unknown-outcome.ts';
import { forwardAll } from './fan-out/forward-all.ts';
import { publish } from './fan-out/publish.ts';
import { lockScopeOf } from './hints/scan-hints.ts';
import {
  breakLock,
  deadLetterByNumber,
  reactivate,
  removeByNumber,
} from './messages/by-sequence-number.ts';
import { peek } from './messages/peek.ts';
import { removeBefore } from './messages/remove-before.ts';
import { forwardSome, resubmit } from './messages/resubmit.ts';
import { activateDue, forwardDue } from './scheduling/activate.ts';
import { cancelScheduled } from './scheduling/cancel-scheduled.ts';
import { noteDue } from './scheduling/next-due.ts';
import { logName } from './schema/message-keys.ts';
import { deadLetterLapsed } from './settle/dead-letter-lapsed.ts';
import { renew } from './settle/renew.ts';
import { settle } from './settle/settle.ts';
import type { StoreContext } from './store-context.ts';
import { transact } from './transactions/transact.ts';
import { lookUpTransaction, resolveTransaction } from './transactions/transaction-record.ts';

/**
 * How far ahead left work is entered, ms. A sweep may leave work while it does an entry, and the new entry must not be
 * due before the sweep has removed that one.
 */
const LEFT_FOR_MS = 60_000;

const VERBS = {
  append,
  reserve,
  confirm,
  takeNumbers: takeNumbersFor,
  publish,
  activateDue: (context: StoreContext, log: Log) => activateDue(context, log, context.clock.now()),
  forwardDue,
  forwardAll,
  leaveToSweep,
  claim,
  changesAt,
  nextDueAt,
  emptyAt: ({ scanHints }: StoreContext, log: Log) => scanHints.emptyAt(logName(log)),
  settle,
  transact,
  lookUpTransaction,
  resolveTransaction,
  noteDue: (context: StoreContext, log: Log, dueAt: number) =>
    afterStoring(noteDue(context, log, dueAt)),
  renew,
  deadLetterLapsed,
  peek,
  receiveDeferred,
  cancelScheduled,
  breakLock,
  reactivate,
  remove: removeByNumber,
  deadLetter: deadLetterByNumber,
  removeBefore,
  resubmit,
  forwardSome,
};

/**
 * Messages in DynamoDB, by blocks and slots. `measure` tells how many bytes an entity holds, at the price of
 * reading all its blocks.
 */
export function createMessageStore(
  context: StoreContext,
  measure: (entity: Entity) => Promise<number>,
): MessageStore {
  return {
    ...bindAll(context, VERBS),
    fitsQuota: (entity, request) => fitsQuota(context, entity, request, () => measure(entity)),
  };
}

async function takeNumbersFor(
  { table, clock, sizeEstimate }: StoreContext,
  log: Log,
  messages: readonly Message[],
  count: number,
): Promise<bigint> {
  const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
  const taking = { count, bytes, now: clock.now() };
  const taken = await beforeStoring(takeNumbers(table, log, taking));
  sizeEstimate.noteStored(log, taken.bytesIn);
  return taken.first;
}

function leaveToSweep({ background, clock, addDueWork }: StoreContext, log: Log): void {
  background(() => addDueWork(log, clock.now() + LEFT_FOR_MS));
}

function changesAt(
  { scanHints, dueTimes, clock }: StoreContext,
  log: Log,
  { rules }: LogPolicy,
): number {
  const hint = scanHints.find(logName(log), clock.now(), lockScopeOf(rules));
  const dueAt =
    log.subQueue === 'main'
      ? nextDueAt({ dueTimes }, withoutSession(log))
      : Number.POSITIVE_INFINITY;
  return Math.min(hint?.validUntil ?? Number.POSITIVE_INFINITY, dueAt);
}

function nextDueAt({ dueTimes }: Pick<StoreContext, 'dueTimes'>, log: Log): number {
  return dueTimes.nextDueAt(log) ?? Number.POSITIVE_INFINITY;
}
