import type { TokenSettlement } from '../../broker/ports/messages.ts';
import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { type BrokerError, serviceBusy } from '../../domain/broker-error.ts';
import { addTo } from '../../domain/group-by.ts';
import { keyOf } from '../blocks/read-blocks.ts';
import type { ItemKey } from '../dynamodb/table.ts';

/** Settlements and renewals grouped by block: each group is one write. */

/** A settlement and its index in the request. */
export type BlockSettlement = TokenSettlement & { readonly index: number };

type WithToken = { readonly token: LockToken };

/** Tries while other processes change the same block. */
export const SETTLE_TRIES_MAX = 10;

/**
 * Groups settlements or renewals by block. A message that is named more than once, for example by an old and a live
 * token, has its further mentions in later rounds, because one write can change a slot only once.
 */
export function roundsByBlock<Item extends WithToken>(
  items: readonly Item[],
): (Item & { readonly index: number })[][][] {
  const rounds: Map<string, (Item & { readonly index: number })[]>[] = [];
  /** How often each message was named so far, which is the round of its next mention. */
  const mentions = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const { token } = item;
    const block = `${token.section}.${token.block}`;
    const message = `${block}.${token.slot}`;
    const number = mentions.get(message) ?? 0;
    mentions.set(message, number + 1);
    const round = rounds[number] ?? new Map();
    rounds[number] = round;
    addTo(round, block, { ...item, index });
  }
  return rounds.map((round) => [...round.values()]);
}

/** The key of the block that these tokens name. */
export function keyOfTokens(log: Log, group: readonly WithToken[]): ItemKey {
  const [first] = group;
  if (first === undefined)
    throw new Error('Invariant violated: a group of settlements is not empty');
  return keyOf(log, { section: first.token.section, sequence: first.token.block });
}

/** The refusal after a block has changed at every try. */
export function blockKeptChanging(): BrokerError {
  return serviceBusy('Other operations kept changing the same block of messages. Try again.');
}
