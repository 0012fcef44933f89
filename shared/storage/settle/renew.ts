import type { OnOutcome } from '../../broker/ports/messages.ts';
import type { Block } from '../../domain/blocks/block.ts';
import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { holdsLock, type LockRules } from '../../domain/blocks/slot.ts';
import { BrokerError, lockLost } from '../../domain/broker-error.ts';
import { mapInTurns } from '../../domain/turns/loop-turns.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { blockUpdate, type SlotChange, underLock } from '../blocks/block-writes.ts';
import type { Written } from '../dynamodb/requests.ts';
import type { StoreContext } from '../store-context.ts';
import {
  blockKeptChanging,
  keyOfTokens,
  roundsByBlock,
  SETTLE_TRIES_MAX,
} from './settle-groups.ts';

/**
 * Renews locks, each from the instant of its write (semantics #7). A lock that already lasts longer keeps its end,
 * because a copy of an earlier renewal that arrives late must not shorten it.
 */
export async function renew(
  context: StoreContext,
  log: Log,
  tokens: readonly LockToken[],
  lockMs: number,
  rules: LockRules,
  onOutcome: OnOutcome<number | BrokerError>,
): Promise<void> {
  for (const groups of roundsByBlock(tokens.map((token) => ({ token })))) {
    await mapInTurns(context.requestTurns, groups, (group) => {
      const now = context.clock.now();
      if (log.isConsumed) context.consumers.availableAt(log, now + lockMs);
      return renewGroup(context, log, group, { until: now + lockMs, now, rules, onOutcome });
    });
  }
}

/** A lock to renew, and its index in the request. */
type IndexedToken = { readonly index: number; readonly token: LockToken };

interface Renewal {
  /** Epoch ms. */
  readonly until: number;
  readonly now: number;
  readonly rules: LockRules;
  readonly onOutcome: OnOutcome<number | BrokerError>;
}

async function renewGroup(
  context: StoreContext,
  log: Log,
  group: readonly IndexedToken[],
  renewal: Renewal,
): Promise<void> {
  let pending = group;
  const resolve = (outcome: number | BrokerError) => {
    for (const { index } of pending) renewal.onOutcome(index, outcome);
  };
  try {
    for (let tries = 0; tries < SETTLE_TRIES_MAX && pending.length > 0; tries++) {
      const written = await extend(context, log, pending, renewal);
      if (written.done) return resolve(renewal.until);
      pending = stillToRenew(pending, written.old && fromBlockItem(written.old), renewal);
    }
    resolve(blockKeptChanging());
  } catch (error) {
    // The other blocks have outcomes of their own.
    if (!(error instanceof BrokerError)) throw error;
    resolve(error);
  }
}

function extend(
  context: StoreContext,
  log: Log,
  group: readonly IndexedToken[],
  { until, now, rules }: Renewal,
): Promise<Written> {
  const changes = group.map(
    ({ token }): SlotChange => ({
      number: token.slot,
      when: underLock(token.tag, rules, now),
      effect: { kind: 'extend', until },
    }),
  );
  return context.table.update(keyOfTokens(log, group), blockUpdate(changes));
}

/** The messages whose locks are live and end before the renewal would; tells the outcome of the others. */
function stillToRenew(
  group: readonly IndexedToken[],
  block: Block | undefined,
  { until, now, rules, onOutcome }: Renewal,
): readonly IndexedToken[] {
  return group.filter(({ index, token }) => {
    const slot = block?.slots.get(token.slot);
    const isHeld = holdsLock(slot, token.tag, rules, now);
    const heldUntil = isHeld ? (slot.heldUntil ?? 0) : undefined;
    if (heldUntil !== undefined && heldUntil < until) return true;
    onOutcome(index, heldUntil ?? lockLost());
    return false;
  });
}
