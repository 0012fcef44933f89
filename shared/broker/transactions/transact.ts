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
import type {
  IdentifiedAttempt,
  TransactedSettlement,
  TransactedSettlements,
} from '../ports/transactions.ts';
import { countingAttempt, withCopyAccount } from '../routing/copy-account.ts';
import { tryForward } from '../routing/forward-pending.ts';
import { storesSentMessages } from '../send/send.ts';
import { requireSessionFits, sessionLog, sessionPolicy } from '../sessions/session-operations.ts';
import { readToken } from '../settle/settle.ts';
import { mayDeadLetter, requireAction, requireInSession } from '../settle/settlement-rules.ts';
import { completeAnswered } from './answered-before.ts';
import { inOperation } from './error-context.ts';
import { reserveSends, withoutDuplicates } from './transact-duplicates.ts';
import {
  type EntitySend,
  outcomesOf,
  prepareSends,
  takeSends,
  type Via,
} from './transact-sends.ts';

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
  if (identity === undefined) return await attempt(dependencies, operations);
  const known = await dependencies.messages.lookUpTransaction(identity);
  if (!('identity' in known)) return await answered(dependencies, operations, known);
  try {
    return await attempt(dependencies, operations, known);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    const outcomes = await dependencies.messages.resolveTransaction(known, error);
    if (outcomes === undefined) throw error;
    return await answered(dependencies, operations, outcomes);
  }
}

/** The stored outcomes, once what they promise is complete. */
async function answered(
  dependencies: BrokerDependencies,
  operations: Transaction['operations'],
  outcomes: readonly OperationOutcome[],
): Promise<readonly OperationOutcome[]> {
  await completeAnswered(dependencies, operations, outcomes);
  return outcomes;
}

async function attempt(
  dependencies: BrokerDependencies,
  operations: Transaction['operations'],
  identified?: IdentifiedAttempt,
): Promise<readonly OperationOutcome[]> {
  try {
    return await withCopyAccount(dependencies, (counting) =>
      execute(counting, operations, identified),
    );
  } catch (error) {
    // An entity was deleted, and possibly created again, since this process read it. Nothing was written.
    if (!(error instanceof BrokerError) || error.code !== 'MessagingEntityNotFound') throw error;
    for (const { path } of operations) dependencies.entities.forget(path.key);
    return await withCopyAccount(dependencies, (counting) =>
      execute(counting, operations, identified),
    );
  }
}

/**
 * Tries until the write succeeds or `reserveSends` throws, which reserves again if a condition of a reservation was
 * refused, and bounds how often.
 */
async function execute(
  dependencies: BrokerDependencies,
  operations: Transaction['operations'],
  identified: IdentifiedAttempt | undefined,
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
          identified,
          outcomes: (facts) => outcomesOf(operations, fresh, facts),
        }),
      );
      for (const { reservation } of sends) {
        if (reservation !== undefined) await dependencies.messages.confirm(reservation);
      }
      for (const one of fresh) forwardSentWhenDue(dependencies, one);
      if (settling !== undefined) await forwardDeadLetters(dependencies, settling);
      return outcomes;
    } catch (error) {
      sends = await reserveSends(dependencies, sends, error);
    }
  }
}

/** Has what a transaction scheduled in an entity that forwards go on when it comes due. */
function forwardSentWhenDue(
  { dueForwards }: BrokerDependencies,
  { entity, log: { partition }, appended }: EntitySend,
): void {
  if (storesSentMessages(entity)) return;
  for (const { message } of appended) {
    if (message.scheduledEnqueueAt === undefined) continue;
    dueForwards?.add({ id: entity.id, key: entity.key, partition }, message.scheduledEnqueueAt);
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
  const asked = operations.flatMap((operation, operationIndex) =>
    operation.kind === 'send' ? [] : [{ operation, operationIndex }],
  );
  const [first] = asked;
  if (first === undefined) return undefined;
  const { path, sessionId } = first.operation;
  const entity = await inOperation(first.operationIndex, async () => {
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
      { operation: other.operationIndex },
    );
  }
  const settlements = await Promise.all(
    asked.map(({ operation, operationIndex }) =>
      inOperation(operationIndex, () => readSettlement(entity, operation, operationIndex)),
    ),
  );
  requireDifferent(settlements);
  const partitions = settlements.map(({ token }) => token.partition);
  requireOnePartition(entity.name, partitions);
  const [partition = 0] = partitions;
  const lockMs = entity.description.lockMs;
  if (sessionId !== undefined) {
    const { log, policy } = await inOperation(first.operationIndex, () =>
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
  for (const { token, action, operationIndex } of settlements) {
    requireInSession(action);
    if (lockId === undefined || !isOfSessionLock(token.tag, lockId)) {
      throw sessionLockLost().ofOperation(operationIndex);
    }
  }
  return { log, policy: sessionPolicy(entity, log, lock) };
}

function readSettlement(
  entity: Receivable,
  operation: Settlement,
  operationIndex: number,
): TransactedSettlement {
  if (operation.kind === 'renew') {
    const token = readToken(entity, operation.lockToken);
    return { operationIndex, token, action: { kind: 'renew' } };
  }
  const { lockToken, action } = operation.settlement;
  requireAction(operation.path, action);
  return { operationIndex, token: readToken(entity, lockToken), action };
}

/** Throws InvalidOperation if two operations name one message (semantics U2). */
function requireDifferent(settlements: readonly TransactedSettlement[]): void {
  const seen = new Set<string>();
  for (const { token, operationIndex } of settlements) {
    const message = `${token.section}.${token.block}.${token.slot}`;
    if (seen.has(message)) {
      throw invalidOperation(
        'A transaction settles or renews a message once; this one is named by an earlier operation.',
        { operation: operationIndex },
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

async function forwardDeadLetters(
  dependencies: BrokerDependencies,
  { entity, settlements, log }: Settling,
): Promise<void> {
  const actions = settlements.flatMap(({ action }) => (action.kind === 'renew' ? [] : [action]));
  if (mayDeadLetter(entity, actions)) await tryForward(dependencies, entity, [log.partition]);
}
