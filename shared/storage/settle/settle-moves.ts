import type { SettlementAction } from '../../broker/broker.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { holdsLock } from '../../domain/blocks/slot.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { run } from '../dynamodb/prepared-write.ts';
import { decided } from '../dynamodb/unknown-outcome.ts';
import type { StoreContext } from '../store-context.ts';
import { prepareSettlements } from './prepare-settlements.ts';
import {
  type BlockSettlement,
  blockKeptChanging,
  keyOfTokens,
  SETTLE_TRIES_MAX,
} from './settle-groups.ts';

/**
 * Settlements that move a message: dead-letter, defer, and abandon with changed properties. They read the block first,
 * because the message or the reference to its payload moves too.
 */

/** Whether a settlement moves its message. */
export function isMove(action: SettlementAction): boolean {
  if (action.kind === 'complete') return false;
  return action.kind !== 'abandon' || action.properties !== undefined;
}

/** Carries out such settlements of one block; returns those whose locks were live. */
export async function settleByMoving(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  policy: LogPolicy,
): Promise<readonly BlockSettlement[]> {
  const key = keyOfTokens(log, group);
  for (let tries = 0; tries < SETTLE_TRIES_MAX; tries++) {
    const now = context.clock.now();
    const item = await context.table.get(key, { consistent: true });
    if (item === undefined) return [];
    const block = fromBlockItem(item);
    const held = group.filter(({ token }) =>
      holdsLock(block.slots.get(token.slot), token.tag, policy.rules, now),
    );
    if (held.length === 0) return [];
    const prepared = await prepareSettlements(context, log, block, held, policy, now);
    if (prepared !== undefined && decided(await run(context.table, [prepared]))) return held;
  }
  throw blockKeptChanging();
}
