import type { OnOutcome, TokenSettlement } from '../../broker/ports/messages.ts';
import { type Block, expiryOf, slotOf } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { deliveriesOf, holdsLock, type SlotRules } from '../../domain/blocks/slot.ts';
import { BrokerError, lockLost, unknownOutcome } from '../../domain/broker-error.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { mapInTurns } from '../../domain/turns/loop-turns.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { blockDelete, blockUpdate, type SlotChange, underLock } from '../blocks/block-writes.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { announceAbandoned, announceReturn, deleteEmptyBlock } from '../blocks/read-blocks.ts';
import { orLookedUp } from '../dynamodb/look-up.ts';
import type { Written } from '../dynamodb/requests.ts';
import { nextTry } from '../dynamodb/unknown-outcome.ts';
import { logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { cleanUp } from './clean-up.ts';
import { releaseOf } from './prepare-settlements.ts';
import {
  type BlockSettlement,
  blockKeptChanging,
  keyOfTokens,
  roundsByBlock,
  SETTLE_TRIES_MAX,
} from './settle-groups.ts';
import { isMove, settleByMoving } from './settle-moves.ts';

/**
 * Settles messages. Tokens say where their messages are, so nothing is read first: all completes and abandons of one
 * block are one conditional write, one write unit. Settlements that move a message read the block first. A failed write
 * returns the block, which shows which locks are lost; the others are tried again without them.
 */
export async function settle(
  context: StoreContext,
  log: Log,
  settlements: readonly TokenSettlement[],
  policy: LogPolicy,
  onOutcome: OnOutcome<BrokerError | undefined>,
): Promise<void> {
  const settleGroup = async (
    group: readonly BlockSettlement[],
    how: typeof settleInPlace,
  ): Promise<void> => {
    if (group.length === 0) return;
    try {
      const done = new Set((await how(context, log, group, policy)).map(({ index }) => index));
      // A token settles once: what no write has settled has lost its lock (semantics #5, #B14).
      for (const { index } of group) onOutcome(index, done.has(index) ? undefined : lockLost());
    } catch (error) {
      // The outcome of the write may be uncertain, so abandoned messages may be available.
      if (group.some(({ action }) => action.kind === 'abandon')) announceReturn(context, log);
      // The other blocks have outcomes of their own.
      if (!(error instanceof BrokerError)) throw error;
      if (error.code === 'ArgumentError' && group.length > 1) {
        // Nothing was written; it may concern one of them.
        for (const one of group) await settleGroup([one], how);
        return;
      }
      for (const { index } of group) onOutcome(index, error);
    }
  };
  for (const groups of roundsByBlock(settlements)) {
    await mapInTurns(context.requestTurns, groups, async (group) => {
      await settleGroup(
        group.filter(({ action }) => !isMove(action)),
        settleInPlace,
      );
      await settleGroup(
        group.filter(({ action }) => isMove(action)),
        settleByMoving,
      );
    });
  }
}

async function settleInPlace(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  policy: LogPolicy,
): Promise<readonly BlockSettlement[]> {
  const now = context.clock.now();
  let pending = group;
  let isUncertain = false;
  let isLast = completesAll(group, Math.min(...group.map(({ token }) => token.liveSlots)));
  for (let tries = 0; tries < SETTLE_TRIES_MAX && pending.length > 0; tries++) {
    const writing = write(context, log, pending, isLast, policy.rules, now);
    const written: Written = await nextTry(isUncertain, writing);
    if (written.done) {
      await afterSettling(context, log, pending, isLast, written, policy);
      return pending;
    }
    const block = written.old && fromBlockItem(written.old);
    // An earlier try may still take effect.
    isUncertain ||= written.isUncertain;
    const before = isUncertain ? wereSettledBefore(pending, block) : 'no';
    if (before === 'unknown') throw unknownOutcome();
    if (block === undefined) return [];
    if (before === 'yes') {
      const item = written.old;
      await afterSettling(context, log, pending, false, { done: true, item }, policy);
      return pending;
    }
    pending = pending.filter(({ token }) =>
      holdsLock(block.slots.get(token.slot), token.tag, policy.rules, now),
    );
    isLast = completesAll(pending, block.slots.size);
  }
  if (pending.length === 0) return [];
  throw isUncertain ? unknownOutcome() : blockKeptChanging();
}

/**
 * Whether a write with an unknown outcome settled these messages, all at once: 'no' if one of them still has its lock,
 * 'yes' if one was abandoned and is free. A message that is gone proves nothing: another receiver may have completed it
 * after the lock expired. Then the outcome stays unknown (semantics L5).
 */
function wereSettledBefore(
  group: readonly BlockSettlement[],
  block: Block | undefined,
): 'yes' | 'no' | 'unknown' {
  const isUnderLock = ({ token }: BlockSettlement) =>
    isSameBytes(block?.slots.get(token.slot)?.tag, token.tag);
  if (group.some(isUnderLock)) return 'no';
  const isGivenBack = ({ token, action }: BlockSettlement) =>
    action.kind === 'abandon' &&
    block?.slots.has(token.slot) === true &&
    block.slots.get(token.slot)?.tag === undefined;
  return group.every(isGivenBack) ? 'yes' : 'unknown';
}

function completesAll(group: readonly BlockSettlement[], liveSlots: number): boolean {
  return group.length >= liveSlots && group.every(({ action }) => action.kind === 'complete');
}

async function write(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  isLast: boolean,
  rules: SlotRules,
  now: number,
): Promise<Written> {
  const key = keyOfTokens(log, group);
  // A complete removes the message (semantics #4); an abandon unlocks it at once (semantics #B11).
  const changes = group.map(
    ({ token, action }): SlotChange => ({
      number: token.slot,
      when: underLock(token.tag, rules, now),
      effect: action.kind === 'complete' ? { kind: 'remove' } : releaseOf(action, rules, now),
    }),
  );
  const { table } = context;
  const writing = isLast
    ? table.delete(key, { ...blockDelete(changes), ReturnValues: 'ALL_OLD' })
    : table.update(key, { ...blockUpdate(changes), ReturnValues: 'ALL_NEW' });
  return await orLookedUp(table, key, writing);
}

/** The work after a settlement. If it fails, the next receive does it. */
async function afterSettling(...settlement: Parameters<typeof afterwards>): Promise<void> {
  const [context, log] = settlement;
  context.sizeEstimate.noteRemoval(log);
  try {
    await afterwards(...settlement);
  } catch (error) {
    context.background(() => Promise.reject(error));
  }
}

async function afterwards(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  wasDeleted: boolean,
  written: Extract<Written, { done: true }>,
  policy: LogPolicy,
): Promise<void> {
  if (written.item === undefined) return;
  const block = fromBlockItem(written.item);
  context.scanHints.pages.noteLeft(
    logName(log),
    block,
    (slot) => !wasDeleted && block.slots.has(slot),
  );
  if (wasDeleted) {
    context.background(() => releasePayload(context.table, log, block.payload));
    return;
  }
  if (block.slots.size === 0) await deleteEmptyBlock(context, log, block);
  const released = group
    .filter(({ action }) => action.kind === 'abandon')
    .map(({ token }) => token.slot);
  if (released.length === 0) return;
  announceAbandoned(
    context,
    log,
    group.map(({ action }) => action),
  );
  await cleanUpAbandoned(context, log, block, released, policy);
}

/** Cleans up abandoned messages whose deliveries are used up, or that have expired (semantics #46). */
async function cleanUpAbandoned(
  context: StoreContext,
  log: Log,
  block: Block,
  released: readonly number[],
  policy: LogPolicy,
): Promise<void> {
  const { rules } = policy;
  if (rules.isDeadLetter || block.section === 'deferred') return;
  const isExhausted = (n: number) =>
    deliveriesOf(slotOf(block, n), rules) >= rules.maxDeliveryCount;
  const now = context.clock.now();
  const exhausted = released.filter(isExhausted);
  const expired = released.filter((n) => {
    const expiresAt = expiryOf(block, slotOf(block, n), rules);
    return !isExhausted(n) && expiresAt !== undefined && expiresAt <= now;
  });
  if (exhausted.length + expired.length === 0) return;
  await cleanUp(context, log, policy, [{ block, survey: { free: [], expired, exhausted } }]);
}
