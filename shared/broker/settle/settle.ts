import { assert } from '../../domain/assert.ts';
import {
  isOfEpochOrLater,
  type LockToken,
  parseLockToken,
} from '../../domain/blocks/lock-token.ts';
import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, lockLost } from '../../domain/broker-error.ts';
import { partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { addTo } from '../../domain/group-by.ts';
import type { RenewalOutcome, Settlement, SettlementOutcome } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable } from '../entity-lookup.ts';
import type { OnOutcome } from '../ports/messages.ts';
import { tryForward } from '../routing/forward-pending.ts';
import { requireSessionFits, settleInSession } from '../sessions/session-operations.ts';
import { mayDeadLetter, requireAction } from './settlement-rules.ts';

/**
 * Settles messages, each on its own; see `Broker.settle`. `onOutcome` hears outcomes that are known before the others;
 * the others are in the result only.
 */
export async function settle(
  dependencies: BrokerDependencies,
  path: EntityPath,
  settlements: readonly Settlement[],
  sessionId?: string,
  onOutcome?: OnOutcome<SettlementOutcome>,
): Promise<readonly SettlementOutcome[]> {
  if (sessionId !== undefined)
    return await settleInSession(dependencies, path, settlements, sessionId, onOutcome);
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, undefined);
  const actions = settlements.map(({ action }) => action);
  // The caller's next receive finds the dead letters where they are forwarded to.
  const isForwarding = mayDeadLetter(entity, actions);
  const touched = new Set<number>();
  const outcomes = await perPartition(
    settlements,
    ({ lockToken, action }) => {
      requireAction(path, action);
      return readToken(entity, lockToken);
    },
    async (partition, group, onOne) => {
      touched.add(partition);
      await dependencies.messages.settle(
        logOf(entity, path.subQueue, partition),
        group.map(({ token, item: { action } }) => ({ token, action })),
        policyOf(entity, path.subQueue, partition),
        (i, refusal) => onOne(i, refusal === undefined ? {} : { refusal }),
      );
    },
    isForwarding ? undefined : onOutcome,
  );
  if (isForwarding) await tryForward(dependencies, entity, [...touched]);
  return outcomes;
}

/** Renews locks; see `Broker.renewLocks`. `onOutcome` as for `settle`. */
export async function renewLocks(
  dependencies: BrokerDependencies,
  path: EntityPath,
  lockTokens: readonly string[],
  onOutcome?: OnOutcome<RenewalOutcome>,
): Promise<readonly RenewalOutcome[]> {
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, undefined);
  return await perPartition(
    lockTokens.map((lockToken) => ({ lockToken })),
    ({ lockToken }) => readToken(entity, lockToken),
    async (partition, group, onOne) => {
      await dependencies.messages.renew(
        logOf(entity, path.subQueue, partition),
        group.map(({ token }) => token),
        entity.description.lockMs,
        policyOf(entity, path.subQueue, partition).rules,
        (i, renewal) =>
          onOne(
            i,
            renewal instanceof BrokerError ? { refusal: renewal } : { lockedUntil: renewal },
          ),
      );
    },
    onOutcome,
  );
}

interface IndexedItem<Item> {
  readonly index: number;
  readonly token: LockToken;
  readonly item: Item;
}

/** What became of an item; a settlement has no `lockedUntil`. */
type Outcome = Omit<RenewalOutcome, 'lockToken'>;

/**
 * Groups items by the partition in their tokens, works on each group, and returns the outcomes in the order of the
 * items. The refusal of an item is its outcome and does not stop the others.
 */
async function perPartition<Item extends { readonly lockToken: string }>(
  items: readonly Item[],
  tokenOf: (item: Item) => LockToken,
  work: (
    partition: number,
    group: readonly IndexedItem<Item>[],
    onOne: OnOutcome<Outcome>,
  ) => Promise<void>,
  onOutcome?: OnOutcome<RenewalOutcome>,
): Promise<readonly RenewalOutcome[]> {
  const outcomes: Outcome[] = [];
  const tell = (index: number, outcome: Outcome) => {
    outcomes[index] = outcome;
    onOutcome?.(index, { lockToken: items[index]?.lockToken ?? '', ...outcome });
  };
  const groups = new Map<number, IndexedItem<Item>[]>();
  for (const [index, item] of items.entries()) {
    try {
      const token = tokenOf(item);
      addTo(groups, token.partition, { index, token, item });
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      tell(index, { refusal: error });
    }
  }
  const failures: BrokerError[] = [];
  await Promise.all(
    Array.from(groups, async ([partition, group]) => {
      try {
        await work(partition, group, (i, outcome) => {
          const one = group[i];
          assert(one !== undefined, 'an outcome is that of an item');
          tell(one.index, outcome);
        });
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error;
        failures.push(error);
        for (const { index } of group) outcomes[index] ??= { refusal: error };
      }
    }),
  );
  // A failed partition must not hide what the others did; the call fails only if all of them fail (semantics #P12).
  const [failure] = failures;
  if (failure !== undefined && failures.length === groups.size) throw failure;
  return items.map(({ lockToken }, index) => {
    const outcome = outcomes[index];
    assert(outcome !== undefined, 'every item has an outcome');
    return { lockToken, ...outcome };
  });
}

/**
 * Parses a lock token. Throws MessageLockLost for a token of an earlier epoch: a change of the entity has ended its
 * lock (semantics #14).
 */
export function readToken(entity: Receivable, lockToken: string): LockToken {
  const token = parseLockToken(lockToken);
  if (!isOfEpochOrLater(token.tag, entity.epoch) || token.partition >= partitionsOf(entity)) {
    throw lockLost();
  }
  return token;
}
