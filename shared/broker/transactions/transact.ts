import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { isOfSessionLock, sessionLockLost } from '../../domain/blocks/session.ts';
import { BrokerError, invalidOperation } from '../../domain/broker-error.ts';
import { partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { requireTransactions } from '../../domain/entities/tier.ts';
import {
  requireOnePartition,
  requireTransactionSize,
} from '../../domain/messages/transaction-rules.ts';
import type { OperationOutcome, Transaction, TransactionOperation } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable } from '../entity-lookup.ts';
import type { TransactedSettlement, TransactedSettlements } from '../ports/transactions.ts';
import { countingAttempt, countingCopies } from '../routing/copy-account.ts';
import { sendOn } from '../routing/forward-pending.ts';
import { requireSessionFits, sessionLog, sessionPolicy } from '../sessions/in-session.ts';
import { readToken } from '../settle/settle.ts';
import { mayDeadLetter, noDelayInSession, requireAction } from '../settle/settlement-rules.ts';
import { inOperation } from './error-context.ts';
import { reserveSends, withoutDuplicates } from './transact-duplicates.ts';
import { outcomesOf, prepareSends, takeSends, type Via } from './transact-sends.ts';

/** Carries out operations, all or none; see `Broker.transact`. */
export async function transact(
  dependencies: BrokerDependencies,
  transaction: Transaction,
): Promise<readonly OperationOutcome[]> {
  const { identity, operations } = transaction;
  requireTransactions(dependencies.namespace);
  requireTransactionSize(
    operations.reduce((sum, one) => sum + (one.kind === 'send' ? one.messages.length : 0), 0),
  );
  if (identity === undefined) return await attempt(dependencies, transaction);
  const known = await dependencies.messages.lookUpTransaction(identity);
  if (known !== undefined) return known;
  try {
    return await attempt(dependencies, transaction);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    const outcomes = await dependencies.messages.resolveTransaction(identity, error);
    if (outcomes === undefined) throw error;
    return outcomes;
  }
}

async function attempt(
  dependencies: BrokerDependencies,
  transaction: Transaction,
): Promise<readonly OperationOutcome[]> {
  try {
    return await countingCopies(dependencies, (counting) => execute(counting, transaction));
  } catch (error) {
    // An entity was deleted, and possibly created again, since this process read it. Nothing was written.
    if (!(error instanceof BrokerError) || error.code !== 'MessagingEntityNotFound') throw error;
    for (const { path } of transaction.operations) dependencies.entities.forget(path.key);
    return await countingCopies(dependencies, (counting) => execute(counting, transaction));
  }
}

async function execute(
  dependencies: BrokerDependencies,
  { operations, identity }: Transaction,
): Promise<readonly OperationOutcome[]> {
  const now = dependencies.clock.now();
  const settling = await findSettling(dependencies, operations);
  const via = viaOf(settling);
  let sends = await reserveSends(
    dependencies,
    await prepareSends(dependencies, operations, via, now),
  );
  for (;;) {
    const fresh = sends.map(withoutDuplicates);
    const conditions = sends.flatMap(({ reservation }) => reservation?.condition ?? []);
    try {
      const outcomes = await countingAttempt(dependencies, (counting) =>
        dependencies.messages.transact({
          now,
          settling,
          sends: () => takeSends(counting, fresh, via),
          conditions,
          identity,
          outcomes: (facts) => outcomesOf(operations, fresh, facts),
        }),
      );
      for (const { reservation } of sends) {
        if (reservation !== undefined) await dependencies.messages.confirm(reservation);
      }
      if (settling !== undefined) await sendOnDeadLetters(dependencies, settling);
      return outcomes;
    } catch (error) {
      sends = await reserveSends(dependencies, sends, error);
    }
  }
}

interface Settling extends TransactedSettlements {
  readonly entity: Receivable;
  readonly path: EntityPath;
}

type Settlement = Exclude<TransactionOperation, { kind: 'send' }>;

/** The settlements of a transaction: all of one entity, and each of another message. */
async function findSettling(
  dependencies: BrokerDependencies,
  operations: readonly TransactionOperation[],
): Promise<Settling | undefined> {
  const asked = operations.flatMap((operation, place) =>
    operation.kind === 'send' ? [] : [{ operation, place }],
  );
  const [first] = asked;
  if (first === undefined) return undefined;
  const { path, sessionId } = first.operation;
  const entity = await inOperation(first.place, async () => {
    const found = await findReceivable(dependencies, path);
    requireSessionFits(found, path, sessionId);
    return found;
  });
  const other = asked.find(
    ({ operation }) =>
      operation.path.key !== path.key ||
      operation.path.subQueue !== path.subQueue ||
      operation.sessionId !== sessionId,
  );
  if (other !== undefined) {
    throw invalidOperation(
      `A transaction settles messages of one entity only, and of one session in it, here of '${path.name}'; to others it can send.`,
      { operation: other.place },
    );
  }
  const settlements = await Promise.all(
    asked.map(({ operation, place }) =>
      inOperation(place, () => readSettlement(entity, operation, place)),
    ),
  );
  requireDifferent(settlements);
  const partitions = settlements.map(({ token }) => token.partition);
  requireOnePartition(entity.name, partitions);
  const [partition = 0] = partitions;
  const lockMs = entity.description.lockMs;
  if (sessionId !== undefined) {
    const { log, policy } = await inOperation(first.place, () =>
      heldSessionOf(dependencies, entity, sessionId, settlements),
    );
    return { entity, path, log, policy, lockMs, settlements };
  }
  return {
    entity,
    path,
    log: logOf(entity, path.subQueue, partition),
    policy: policyOf(entity, path.subQueue, partition),
    lockMs,
    settlements,
  };
}

/**
 * The session of settlements. Throws SessionLockLost unless all messages were received under its current lock
 * (semantics U13).
 */
async function heldSessionOf(
  dependencies: BrokerDependencies,
  entity: Receivable,
  sessionId: string,
  settlements: readonly TransactedSettlement[],
): Promise<Pick<TransactedSettlements, 'log' | 'policy'>> {
  const log = sessionLog(entity, sessionId);
  const lock = await dependencies.sessions.lockState(log);
  const lockId = lock.holder?.lockId;
  for (const { token, action, place } of settlements) {
    requireInSession(action);
    if (lockId === undefined || !isOfSessionLock(token.tag, lockId)) {
      throw sessionLockLost().ofOperation(place);
    }
  }
  return { log, policy: sessionPolicy(entity, log, lock) };
}

/** Throws InvalidOperation for a renewal or a delay, which messages of a session do not have. */
function requireInSession(action: TransactedSettlement['action']): void {
  if (action.kind === 'renew') {
    throw invalidOperation(
      'Messages of a session have no locks of their own; renew the lock of the session.',
    );
  }
  if (action.kind === 'abandon' && action.delayMs !== undefined) throw noDelayInSession();
}

function readSettlement(
  entity: Receivable,
  operation: Settlement,
  place: number,
): TransactedSettlement {
  if (operation.kind === 'renew') {
    const token = readToken(entity, operation.lockToken);
    return { place, token, action: { kind: 'renew' } };
  }
  const { lockToken, action } = operation.settlement;
  requireAction(operation.path, action);
  return { place, token: readToken(entity, lockToken), action };
}

/** Throws InvalidOperation if two operations name one message (semantics U2). */
function requireDifferent(settlements: readonly TransactedSettlement[]): void {
  const seen = new Set<string>();
  for (const { token, place } of settlements) {
    const message = `${token.section}.${token.block}.${token.slot}`;
    if (seen.has(message)) {
      throw invalidOperation(
        'A transaction settles or renews a message once; this one is named by an earlier operation.',
        { operation: place },
      );
    }
    seen.add(message);
  }
}

/**
 * The entity through which the transaction sends to others: the one whose messages are settled, or the topic of a
 * subscription (semantics U6).
 */
function viaOf(settling: Settling | undefined): Via | undefined {
  if (settling === undefined) return undefined;
  const { entity, path, log } = settling;
  const { partition } = log;
  return {
    key: path.subscription?.topic.toLowerCase() ?? path.key,
    entity: { name: entity.name, partitions: partitionsOf(entity), requiresSession: false },
    partition,
    transferDeadLetters: logOf(entity, 'transferDeadLetter', partition),
  };
}

async function sendOnDeadLetters(
  dependencies: BrokerDependencies,
  { entity, settlements, log }: Settling,
): Promise<void> {
  const actions = settlements.flatMap(({ action }) => (action.kind === 'renew' ? [] : [action]));
  if (mayDeadLetter(entity, actions)) await sendOn(dependencies, entity, [log.partition]);
}
