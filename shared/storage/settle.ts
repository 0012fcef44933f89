import type { TokenSettlement } from '../broker/ports.ts';
import { type Block, expiryOf, slotOf } from '../domain/block.ts';
import { BrokerError, lockLost } from '../domain/broker-error.ts';
import type { LockToken } from '../domain/lock-token.ts';
import type { Log } from '../domain/log.ts';
import type { LogPolicy } from '../domain/log-policy.ts';
import { deliveriesOf, holdsLock, type LockRules } from '../domain/slot.ts';
import { fromBlockItem } from './block-item.ts';
import {
  blockDelete,
  blockUpdate,
  type SlotChange,
  type SlotEffect,
  underLock,
} from './block-writes.ts';
import { announceReturn, deleteEmptyBlock, keyOf } from './blocks.ts';
import type { Written } from './dynamo.ts';
import { unknownOutcome } from './failures.ts';
import { deletePayload } from './payloads.ts';
import { isMove, settleByMoving } from './settle-moves.ts';
import type { StoreContext } from './store-context.ts';
import { tidy } from './tidy.ts';

/** Settlements that concern one block, with their places in the request. */
export interface BlockSettlement {
  readonly place: number;
  readonly token: LockToken;
  readonly action: TokenSettlement['action'];
}

/** A block changes under a settlement only while others settle in it; they are soon done. */
const TRIES_MAX = 10;

/**
 * Settles messages. Tokens say where their messages are, so nothing is read first: all completes,
 * abandons and renewals of one block are one conditional write. Whose lock turns out to be lost is
 * told from the block as the failed write returns it; the others are tried again without them.
 */
export async function settle(
  context: StoreContext,
  log: Log,
  settlements: readonly TokenSettlement[],
  policy: LogPolicy,
): Promise<readonly (BrokerError | undefined)[]> {
  const settled = new Set<number>();
  const failed = new Map<number, BrokerError>();
  const settleGroup = async (
    group: readonly BlockSettlement[],
    how: typeof settleInPlace,
  ): Promise<void> => {
    if (group.length === 0) return;
    try {
      for (const { place } of await how(context, log, group, policy)) settled.add(place);
    } catch (error) {
      // What was given back may be there, though nothing was heard of it.
      if (group.some(({ action }) => action.kind === 'abandon')) announceReturn(context, log);
      // The other blocks have outcomes of their own.
      if (!(error instanceof BrokerError)) throw error;
      for (const { place } of group) failed.set(place, error);
    }
  };
  for (const groups of roundsByBlock(settlements)) {
    const work = groups.map(async (group) => {
      await settleGroup(
        group.filter(({ action }) => !isMove(action)),
        settleInPlace,
      );
      await settleGroup(
        group.filter(({ action }) => isMove(action)),
        settleByMoving,
      );
    });
    await Promise.all(work);
  }
  return settlements.map((_, place) =>
    settled.has(place) ? undefined : (failed.get(place) ?? lockLost()),
  );
}

/**
 * Groups what concerns one block. A message that is named more than once, by an old token beside the
 * live one, say, has its further mentions in later rounds: one write can change a slot once.
 */
function roundsByBlock(settlements: readonly TokenSettlement[]): BlockSettlement[][][] {
  const rounds: Map<string, BlockSettlement[]>[] = [];
  for (const [place, { token, action }] of settlements.entries()) {
    const key = `${token.store}.${token.block}`;
    const isFree = (round: Map<string, BlockSettlement[]>) =>
      !round.get(key)?.some((other) => other.token.slot === token.slot);
    let round = rounds.find(isFree);
    if (round === undefined) {
      round = new Map();
      rounds.push(round);
    }
    round.set(key, [...(round.get(key) ?? []), { place, token, action }]);
  }
  return rounds.map((round) => [...round.values()]);
}

async function settleInPlace(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  policy: LogPolicy,
): Promise<readonly BlockSettlement[]> {
  const now = context.clock.now();
  let pending = group;
  let isLast = completesAll(group, Math.min(...group.map(({ token }) => token.liveSlots)));
  for (let tries = 0; tries < TRIES_MAX && pending.length > 0; tries++) {
    const written = await write(context, log, pending, isLast, policy.rules, now);
    if (written.done) {
      context.gauge.left(log);
      try {
        await afterwards(context, log, pending, isLast, written, policy);
      } catch (error) {
        // The settlement is done; what is left to tidy is found by the next receiver.
        context.background(() => Promise.reject(error));
      }
      return pending;
    }
    const block = written.old && fromBlockItem(written.old);
    // An earlier try may have done it without being heard, or somebody else before: not known.
    if (written.isRepeated && pending.some((one) => mayBeCarriedOut(one, block)))
      throw unknownOutcome();
    if (block === undefined) return [];
    pending = pending.filter(({ token }) =>
      holdsLock(block.slots.get(token.slot), token.tag, policy.rules, now),
    );
    isLast = completesAll(pending, block.slots.size);
  }
  if (pending.length === 0) return [];
  throw new BrokerError('ServiceBusy', 'Others settle in the same block all the time; try again.');
}

function mayBeCarriedOut({ token, action }: BlockSettlement, block: Block | undefined): boolean {
  return action.kind === 'complete' && !block?.slots.has(token.slot);
}

function completesAll(group: readonly BlockSettlement[], liveSlots: number): boolean {
  return group.length >= liveSlots && group.every(({ action }) => action.kind === 'complete');
}

async function write(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  isLast: boolean,
  rules: LockRules,
  now: number,
): Promise<Written> {
  const key = keyOfTokens(log, group);
  const changes = group.map(
    ({ token, action }): SlotChange => ({
      number: token.slot,
      when: underLock(token.tag, rules, now),
      effect: effectOf(action, now),
    }),
  );
  if (isLast) {
    return await context.table.delete(key, { ...blockDelete(changes), ReturnValues: 'ALL_OLD' });
  }
  return await context.table.update(key, { ...blockUpdate(changes), ReturnValues: 'ALL_NEW' });
}

function effectOf(action: TokenSettlement['action'], now: number): SlotEffect {
  if (action.kind === 'complete') return { kind: 'remove' };
  const delayMs = action.kind === 'abandon' ? action.delayMs : undefined;
  return delayMs === undefined
    ? { kind: 'release' }
    : { kind: 'release', heldUntil: now + delayMs };
}

function keyOfTokens(log: Log, group: readonly BlockSettlement[]) {
  const [first] = group;
  if (first === undefined) throw new Error('Broken promise: a group of settlements is not empty');
  return keyOf(log, { store: first.token.store, sequence: first.token.block });
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
  if (wasDeleted) {
    context.background(() => deletePayload(context.table, log, block.payload));
    return;
  }
  if (block.slots.size === 0) await deleteEmptyBlock(context, log, block);
  const released = group
    .filter(({ action }) => action.kind === 'abandon')
    .map(({ token }) => token.slot);
  if (released.length === 0) return;
  announceReturn(context, log);
  await tidyReleased(context, log, block, released, policy);
}

/** What comes back with its deliveries used up, or too late, is not handed out again. */
async function tidyReleased(
  context: StoreContext,
  log: Log,
  block: Block,
  released: readonly number[],
  policy: LogPolicy,
): Promise<void> {
  const { rules } = policy;
  if (rules.isDeadLetter || block.store === 'deferred') return;
  const isExhausted = (n: number) =>
    deliveriesOf(slotOf(block, n), rules) >= rules.maxDeliveryCount;
  const now = context.clock.now();
  const exhausted = released.filter(isExhausted);
  const expired = released.filter((n) => {
    const expiresAt = expiryOf(block, slotOf(block, n), rules);
    return !isExhausted(n) && expiresAt !== undefined && expiresAt <= now;
  });
  if (exhausted.length + expired.length === 0) return;
  await tidy(context, log, policy, [{ block, survey: { free: [], expired, exhausted } }]);
}

/** Starts locks anew, from now. */
export async function renew(
  context: StoreContext,
  log: Log,
  tokens: readonly LockToken[],
  lockMs: number,
  rules: LockRules,
): Promise<readonly (number | BrokerError)[]> {
  const now = context.clock.now();
  const until = now + lockMs;
  const renewed = new Set<number>();
  const asSettlements = tokens.map((token) => ({ token, action: { kind: 'complete' } as const }));
  for (const groups of roundsByBlock(asSettlements)) {
    await Promise.all(
      groups.map((group) => renewGroup(context, log, group, { until, now, rules, renewed })),
    );
  }
  return tokens.map((_, place) => (renewed.has(place) ? until : lockLost()));
}

async function renewGroup(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  renewal: { until: number; now: number; rules: LockRules; renewed: Set<number> },
): Promise<void> {
  const { until, now, rules, renewed } = renewal;
  let pending = group;
  for (let tries = 0; tries < TRIES_MAX && pending.length > 0; tries++) {
    const changes = pending.map(
      ({ token }): SlotChange => ({
        number: token.slot,
        when: underLock(token.tag, rules, now),
        effect: { kind: 'extend', until },
      }),
    );
    const written = await context.table.update(keyOfTokens(log, pending), blockUpdate(changes));
    if (written.done) {
      for (const { place } of pending) renewed.add(place);
      return;
    }
    const block = written.old && fromBlockItem(written.old);
    pending = pending.filter(({ token }) =>
      holdsLock(block?.slots.get(token.slot), token.tag, rules, now),
    );
  }
}
