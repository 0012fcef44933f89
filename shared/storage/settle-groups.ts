import type { TokenSettlement } from '../broker/ports.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { LockToken } from '../domain/lock-token.ts';
import type { Log } from '../domain/log.ts';
import { keyOf } from './blocks.ts';
import type { ItemKey } from './dynamo.ts';

/** Settlements and renewals by block: what concerns one block is one write. */

/** Settlements that concern one block, with their places in the request. */
export interface BlockSettlement {
  readonly place: number;
  readonly token: LockToken;
  readonly action: TokenSettlement['action'];
}

/** A block changes under a settlement only while others settle in it; they are soon done. */
export const SETTLE_TRIES_MAX = 10;

/**
 * Groups what concerns one block. A message that is named more than once, by an old token beside the
 * live one, say, has its further mentions in later rounds: one write can change a slot once.
 */
export function roundsByBlock(settlements: readonly TokenSettlement[]): BlockSettlement[][][] {
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

/** The key of the block that these settlements concern. */
export function keyOfTokens(log: Log, group: readonly BlockSettlement[]): ItemKey {
  const [first] = group;
  if (first === undefined) throw new Error('Broken promise: a group of settlements is not empty');
  return keyOf(log, { store: first.token.store, sequence: first.token.block });
}

/** The refusal where a block changed at each try. */
export function settledTooOften(): BrokerError {
  return new BrokerError('ServiceBusy', 'Others settle in the same block all the time; try again.');
}
