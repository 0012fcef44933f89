import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { isOfSessionLock, sessionLockLost } from '../../domain/blocks/session.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { requireTransactions } from '../../domain/entities/tier.ts';
import {
  requireOnePartition,
  requireTransactionSize,
} from '../../domain/messages/transaction-rules.ts';
import type { OperationOutcome, Transaction, TransactionOperation } from '../broker.ts';
import type { BrokerParts } from '../dependencies.ts';
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
  parts: BrokerParts,
  transaction: Transaction,
): Promise<readonly OperationOutcome[]> {
  const { identity, operations } = transaction;
  requireTransactions(parts.namespace);
  requireTransactionSize(
    operations.reduce((sum, one) => sum + (one.kind === 'send' ? one.messages.length : 0), 0),
  );
  if (identity === undefined) return await attempt(parts, transaction);
  const known = await parts.messages.recall(identity);
  if (known !== undefined) return known;
  try {
    return await attempt(parts, transaction);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    const outcomes = await parts.messages.conclude(identity, error);
    if (outcomes === undefined) throw error;
    return outcomes;
  }
}

async function attempt(
  parts: BrokerParts,
  transaction: Transaction,
): Promise<readonly OperationOutcome[]> {
  try {
    return await countingCopies(parts, (counting) => execute(counting, transaction));
  } catch (error) {
    // An entity was deleted, and perhaps created anew, since this process last read it. This shows
    // before anything is written.
    if (!(error instanceof BrokerError) || error.code !== 'MessagingEntityNotFound') throw error;
    for (const { path } of transaction.operations) parts.entities.forget(path.key);
    return await countingCopies(parts, (counting) => execute(counting, transaction));
  }
}

async function execute(
  parts: BrokerParts,
  { operations, identity }: Transaction,
): Promise<readonly OperationOutcome[]> {
  const now = parts.clock.now();
  const settling = await findSettling(parts, operations);
  const via = viaOf(settling);
  let sendings = await reserveSends(parts, await prepareSends(parts, operations, via, now));
  for (;;) {
    const fresh = sendings.map(withoutDuplicates);
    const conditions = sendings.flatMap(({ reservation }) => reservation?.condition ?? []);
    try {
      const outcomes = await countingAttempt(parts, (counting) =>
        parts.messages.transact({
          now,
          settling,
          sends: () => takeSends(counting, fresh, via),
          conditions,
          identity,
          outcomes: (facts) => outcomesOf(operations, fresh, facts),
        }),
      );
      for (const { reservation } of sendings) {
        if (reservation !== undefined) await parts.messages.confirm(reservation);
      }
      if (settling !== undefined) await sendOnDeadLetters(parts, settling);
      return outcomes;
    } catch (error) {
      sendings = await reserveSends(parts, sendings, error);
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
  parts: BrokerParts,
  operations: readonly TransactionOperation[],
): Promise<Settling | undefined> {
  const asked = operations.flatMap((operation, place) =>
    operation.kind === 'send' ? [] : [{ operation, place }],
  );
  const [first] = asked;
  if (first === undefined) return undefined;
  const { path, sessionId } = first.operation;
  const entity = await inOperation(first.place, async () => {
    const found = await findReceivable(parts, path);
    requireSessionFits(found, path, sessionId);
    return found;
  });
  const stranger = asked.find(
    ({ operation }) =>
      operation.path.key !== path.key ||
      operation.path.subQueue !== path.subQueue ||
      operation.sessionId !== sessionId,
  );
  if (stranger !== undefined) {
    throw new BrokerError(
      'InvalidOperation',
      `A transaction settles messages of one entity only, and of one session in it, here of '${path.name}'; to others it can send.`,
      { operation: stranger.place },
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
      heldBy(parts, entity, sessionId, settlements),
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

/** A session, if somebody holds it under whose lock all these messages were received. */
async function heldBy(
  parts: BrokerParts,
  entity: Receivable,
  sessionId: string,
  settlements: readonly TransactedSettlement[],
): Promise<Pick<TransactedSettlements, 'log' | 'policy'>> {
  const log = sessionLog(entity, sessionId);
  const rules = await parts.sessions.rulesOf(log);
  const lockId = rules.holder?.lockId;
  for (const { token, action, place } of settlements) {
    requireInSession(action);
    if (lockId === undefined || !isOfSessionLock(token.tag, lockId)) {
      throw sessionLockLost().ofOperation(place);
    }
  }
  return { log, policy: sessionPolicy(entity, log, rules) };
}

/** What a session does to the order or the locks of its messages is the session's. Throws InvalidOperation. */
function requireInSession(action: TransactedSettlement['action']): void {
  if (action.kind === 'renew') {
    throw new BrokerError(
      'InvalidOperation',
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

function requireDifferent(settlements: readonly TransactedSettlement[]): void {
  const seen = new Set<string>();
  for (const { token, place } of settlements) {
    const message = `${token.store}.${token.block}.${token.slot}`;
    if (seen.has(message)) {
      throw new BrokerError(
        'InvalidOperation',
        'A transaction settles or renews a message once; this one is named by an earlier operation.',
        { operation: place },
      );
    }
    seen.add(message);
  }
}

/**
 * What is sent to other entities counts as sent via the one whose messages are settled, a
 * subscription's as via its topic (semantics U6).
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
  parts: BrokerParts,
  { entity, settlements, log }: Settling,
): Promise<void> {
  const actions = settlements.flatMap(({ action }) => (action.kind === 'renew' ? [] : [action]));
  if (mayDeadLetter(entity, actions)) await sendOn(parts, entity, [log.partition]);
}
