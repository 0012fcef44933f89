import { assert } from '../../domain/assert.ts';
import { isOfEpoch, type LockToken, parseLockToken } from '../../domain/blocks/lock-token.ts';
import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, lockLost } from '../../domain/broker-error.ts';
import { partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { addTo } from '../../domain/group-by.ts';
import type { RenewalOutcome, Settlement, SettlementOutcome } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable } from '../entity-lookup.ts';
import { tryForward } from '../routing/forward-pending.ts';
import { requireSessionFits, settleInSession } from '../sessions/session-operations.ts';
import { mayDeadLetter, requireAction } from './settlement-rules.ts';

/** Settles messages, each on its own; see `Broker.settle`. */
export async function settle(
  dependencies: BrokerDependencies,
  path: EntityPath,
  settlements: readonly Settlement[],
  sessionId?: string,
): Promise<readonly SettlementOutcome[]> {
  if (sessionId !== undefined)
    return await settleInSession(dependencies, path, settlements, sessionId);
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, undefined);
  const touched = new Set<number>();
  const outcomes = await perPartition(
    settlements,
    ({ lockToken, action }) => {
      requireAction(path, action);
      return readToken(entity, lockToken);
    },
    async (partition, group) => {
      touched.add(partition);
      const refusals = await dependencies.messages.settle(
        logOf(entity, path.subQueue, partition),
        group.map(({ token, item: { action } }) => ({ token, action })),
        policyOf(entity, path.subQueue, partition),
      );
      return refusals.map((refusal) => (refusal === undefined ? {} : { refusal }));
    },
  );
  const actions = settlements.map(({ action }) => action);
  if (mayDeadLetter(entity, actions)) await tryForward(dependencies, entity, [...touched]);
  return outcomes;
}

/** Renews locks; see `Broker.renewLocks`. */
export async function renewLocks(
  dependencies: BrokerDependencies,
  path: EntityPath,
  lockTokens: readonly string[],
): Promise<readonly RenewalOutcome[]> {
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, undefined);
  return await perPartition(
    lockTokens.map((lockToken) => ({ lockToken })),
    ({ lockToken }) => readToken(entity, lockToken),
    async (partition, group) => {
      const renewals = await dependencies.messages.renew(
        logOf(entity, path.subQueue, partition),
        group.map(({ token }) => token),
        entity.description.lockMs,
        policyOf(entity, path.subQueue, partition).rules,
      );
      return renewals.map((renewal) =>
        renewal instanceof BrokerError ? { refusal: renewal } : { lockedUntil: renewal },
      );
    },
  );
}

interface IndexedItem<Item> {
  readonly index: number;
  readonly token: LockToken;
  readonly item: Item;
}

/**
 * Groups items by the partition in their tokens, works on each group, and returns the outcomes in the order of the
 * items. The refusal of an item is its outcome and does not stop the others.
 */
async function perPartition<Item extends { readonly lockToken: string }, Outcome extends object>(
  items: readonly Item[],
  tokenOf: (item: Item) => LockToken,
  work: (partition: number, group: readonly IndexedItem<Item>[]) => Promise<readonly Outcome[]>,
): Promise<readonly (Outcome & { readonly lockToken: string })[]> {
  const outcomes: (Outcome | { readonly refusal: BrokerError })[] = [];
  const groups = new Map<number, IndexedItem<Item>[]>();
  for (const [index, item] of items.entries()) {
    try {
      const token = tokenOf(item);
      addTo(groups, token.partition, { index, token, item });
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      outcomes[index] = { refusal: error };
    }
  }
  const failures: BrokerError[] = [];
  await Promise.all(
    Array.from(groups, async ([partition, group]) => {
      try {
        const done = await work(partition, group);
        for (const [i, { index }] of group.entries()) {
          const outcome = done[i];
          assert(outcome !== undefined, 'every item has an outcome');
          outcomes[index] = outcome;
        }
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error;
        failures.push(error);
        for (const { index } of group) outcomes[index] = { refusal: error };
      }
    }),
  );
  // A failed partition must not hide what the others did; the call fails only if all of them fail (semantics #P12).
  const [failure] = failures;
  if (failure !== undefined && failures.length === groups.size) throw failure;
  return items.map(({ lockToken }, index) => ({ lockToken, ...(outcomes[index] as Outcome) }));
}

/**
 * Parses a lock token. Throws MessageLockLost for a token of an earlier epoch: a change of the entity has ended its
 * lock (semantics #14).
 */
export function readToken(entity: Receivable, lockToken: string): LockToken {
  const token = parseLockToken(lockToken);
  if (!isOfEpoch(token.tag, entity.epoch) || token.partition >= partitionsOf(entity)) {
    throw lockLost();
  }
  return token;
}
