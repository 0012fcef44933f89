import type { OperationOutcome } from '../../broker/broker.ts';
import type {
  StoredTransaction,
  TransactedSends,
  TransactedSettlement,
  TransactedSettlements,
} from '../../broker/ports/transactions.ts';
import type { Block } from '../../domain/blocks/block.ts';
import type { LockToken } from '../../domain/blocks/lock-token.ts';
import { sessionLockLost } from '../../domain/blocks/session.ts';
import { holdsLock } from '../../domain/blocks/slot.ts';
import {
  type BrokerError,
  invalidOperation,
  lockLost,
  transactionAborted,
  unknownOutcome,
} from '../../domain/broker-error.ts';
import { MB } from '../../domain/units.ts';
import { prepareAppend } from '../append/append.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { keyOf } from '../blocks/read-blocks.ts';
import { prepareConditions, requireConditions } from '../duplicates/condition.ts';
import { itemSize } from '../dynamodb/item-size.ts';
import { fitsTransaction, newItems, type PreparedWrite, run } from '../dynamodb/prepared-write.ts';
import type { Table, Write } from '../dynamodb/table.ts';
import { prepareBatches } from '../fan-out/publish.ts';
import { sessionKey } from '../schema/message-keys.ts';
import { readyItems, wakeForSessions } from '../sessions/ready-index.ts';
import { whileLockedUnder } from '../sessions/session-item.ts';
import { prepareSettlements } from '../settle/prepare-settlements.ts';
import type { StoreContext } from '../store-context.ts';
import { answerOf, keepOutcomes } from './transaction-record.ts';

/**
 * Sends and settles, all or nothing, by one DynamoDB transaction (semantics #129). It reads the blocks first, so that a
 * lost lock stops it before anything is stored. Then it takes numbers and stores payloads. Each block with settled
 * messages is one write in the transaction, on the condition that their locks are live (semantics U3); changes to other
 * messages of the block do not matter.
 */
export async function transact(
  context: StoreContext,
  transaction: StoredTransaction,
): Promise<readonly OperationOutcome[]> {
  const { settling, identified } = transaction;
  const groups = await readLocked(context, settling);
  const sends = await prepareSends(context, await transaction.sends(), transaction.now);
  const attempt = await orCleanUp(sends.parts, () =>
    prepareAttempt(context, transaction, sends, groups),
  );
  const conditions = prepareConditions(transaction.conditions);
  const outcome = await run(context.table, [...attempt.parts, ...conditions]);
  if (outcome.done) {
    await noteDueAgain(context, sends);
    return attempt.outcomes;
  }
  if (outcome.isUncertain) throw unknownOutcome();
  const { record, session } = attempt;
  const known = record && outcome.refused.get(record);
  const answer = identified && known && answerOf(known, identified);
  if (answer !== undefined) {
    await noteDueAgain(context, sends);
    return answer;
  }
  if (session !== undefined && outcome.refused.has(session)) {
    throw sessionLockLost().ofOperation(settling?.settlements[0]?.operationIndex ?? 0);
  }
  requireConditions(outcome, conditions);
  return await refuse(context, settling);
}

/** Finds the lock that was lost. Throws MessageLockLost, or TransactionAborted if none was (semantics U4). */
async function refuse(
  context: StoreContext,
  settling: TransactedSettlements | undefined,
): Promise<never> {
  await readLocked(context, settling);
  throw transactionAborted();
}

/** Settlements of one block, and the block as it was read. */
interface Group {
  readonly block: Block;
  readonly settlements: readonly TransactedSettlement[];
}

/** Reads the blocks in which messages are settled. Throws MessageLockLost. */
async function readLocked(
  context: StoreContext,
  settling: TransactedSettlements | undefined,
): Promise<readonly Group[]> {
  if (settling === undefined) return [];
  const { log, policy, settlements } = settling;
  const keys = new Map(settlements.map(({ token }) => [blockOf(token), keyOf(log, at(token))]));
  const [only, ...others] = keys.values();
  const items =
    only !== undefined && others.length === 0
      ? [await context.table.get(only, { consistent: true })]
      : await context.table.getMany([...keys.values()], { consistent: true });
  const now = context.clock.now();
  const groups = new Map<string, { block: Block; settlements: TransactedSettlement[] }>();
  for (const item of items) {
    if (item === undefined) continue;
    const block = fromBlockItem(item);
    groups.set(`${block.section}.${block.sequence}`, { block, settlements: [] });
  }
  for (const settlement of settlements) {
    const { token, operationIndex } = settlement;
    const group = groups.get(blockOf(token));
    const slot = group?.block.slots.get(token.slot);
    if (!holdsLock(slot, token.tag, policy.rules, now))
      throw lostLock(policy).ofOperation(operationIndex);
    group?.settlements.push(settlement);
  }
  return [...groups.values()];
}

/** In a session, a lost message lock is reported as a lost session lock (semantics S3). */
function lostLock({ rules: { session } }: TransactedSettlements['policy']): BrokerError {
  return session === undefined ? lockLost() : sessionLockLost();
}

function at({ section, block: sequence }: LockToken) {
  return { section, sequence };
}

function blockOf({ section, block }: LockToken): string {
  return `${section}.${block}`;
}

/** The prepared sends; numbers are taken and payloads stored. */
interface PreparedSends {
  readonly parts: readonly PreparedWrite[];
  readonly numbers: readonly (readonly bigint[])[];
  readonly noteDueAgain: readonly (() => Promise<void>)[];
}

async function prepareSends(
  context: StoreContext,
  { appended, batches }: TransactedSends,
  now: number,
): Promise<PreparedSends> {
  const [appends, batch] = await Promise.all([
    Promise.all(
      appended.map(({ log, messages }) =>
        prepareAppend(context, log, messages, {
          now,
          inOrder: false,
          requireFit: (pieces) => requireItems(context.table, pieces),
        }),
      ),
    ),
    prepareBatches(context, batches, now, {}),
  ]);
  // A session needs one index entry, however its messages arrive.
  const sessions = [...appends.flatMap((append) => append.sessions), ...batch.logs];
  const ready: PreparedWrite = {
    writes: newItems(await readyItems(context, sessions, now)),
    announce: () => wakeForSessions(context, sessions),
  };
  return {
    parts: [...appends, batch, ready],
    numbers: appends.map(({ numbers }) => numbers),
    noteDueAgain: appends.map((append) => append.noteDueAgain),
  };
}

/** Notes due times after the transaction; a failure is retried once in the background. */
async function noteDueAgain(context: StoreContext, sends: PreparedSends): Promise<void> {
  await Promise.all(
    sends.noteDueAgain.map(async (note) => {
      try {
        await note();
      } catch {
        context.background(note);
      }
    }),
  );
}

interface Attempt {
  readonly parts: readonly PreparedWrite[];
  /** The parts whose refusal has a meaning of its own. */
  readonly record: PreparedWrite | undefined;
  readonly session: PreparedWrite | undefined;
  readonly outcomes: readonly OperationOutcome[];
}

async function prepareAttempt(
  context: StoreContext,
  { settling, identified, conditions, outcomes: outcomesOf }: StoredTransaction,
  sends: PreparedSends,
  groups: readonly Group[],
): Promise<Attempt> {
  const now = context.clock.now();
  const lockedUntil = now + (settling?.lockMs ?? 0);
  const prepared = await Promise.all(
    groups.map(({ block, settlements }) =>
      settling === undefined
        ? undefined
        : prepareSettlements(
            context,
            settling.log,
            block,
            settlements.map(({ token, action }) => ({
              token,
              action: action.kind === 'renew' ? { kind: 'renew', until: lockedUntil } : action,
            })),
            settling.policy,
            now,
          ),
    ),
  );
  const settlements = prepared.filter((one) => one !== undefined);
  const outcomes = outcomesOf({ numbers: sends.numbers, lockedUntil });
  const record = identified && { writes: [keepOutcomes(context, identified, outcomes)] };
  const session = sessionHeld(settling, now);
  const parts = [record, session, ...settlements, ...sends.parts].filter(
    (one) => one !== undefined,
  );
  return await orCleanUp(settlements, async () => {
    // A deleted block means lost locks.
    if (settlements.length < prepared.length) return await refuse(context, settling);
    const writes = parts.flatMap((one) => one.writes);
    requireItems(context.table, writes.length + conditions.length);
    requireBytes(writes, groups);
    return { parts, record, session, outcomes };
  });
}

/** The check that the session's lock, which locks its messages, is live. */
function sessionHeld(
  settling: TransactedSettlements | undefined,
  now: number,
): PreparedWrite | undefined {
  const holder = settling?.policy.rules.session?.holder;
  if (settling === undefined || holder === undefined) return undefined;
  const { condition, values } = whileLockedUnder(holder.lockId, settling.log, now);
  const check = sessionKey(settling.log);
  return {
    writes: [{ check, ConditionExpression: condition, ExpressionAttributeValues: values }],
  };
}

function requireItems(table: Table, items: number): void {
  if (fitsTransaction(table, items)) return;
  throw invalidOperation(
    `The transaction takes ${items} writes; the limit is ${table.transactionItems}. Each block of messages that is sent to, or settled in, an entity is one, and each copy in a subscription: put less into one transaction.`,
  );
}

/** DynamoDB takes 4 MB in one transaction and counts stored items as well as new ones. */
const BYTES_MAX = 3.5 * MB;

/** Throws if settled messages with large properties make the transaction too large. */
function requireBytes(writes: readonly Write[], groups: readonly Group[]): void {
  const coming = writes.map((write) => {
    if ('put' in write) return itemSize(write.put);
    return 'update' in write ? itemSize(write.ExpressionAttributeValues ?? {}) : 0;
  });
  const there = groups.map(({ block: { payload } }) => {
    const { inline, overlay } = payload;
    return (inline?.byteLength ?? 0) + (overlay?.byteLength ?? 0);
  });
  const bytes = [...coming, ...there].reduce((sum, one) => sum + one, 0);
  if (bytes <= BYTES_MAX) return;
  throw invalidOperation(
    `The transaction writes ${bytes} bytes beside the bodies of its messages; the limit is ${BYTES_MAX}. Settle fewer messages with large properties in one transaction.`,
  );
}

/** Does further preparation; if it fails, deletes what was stored for these parts. */
async function orCleanUp<Value>(
  parts: readonly PreparedWrite[],
  work: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    for (const part of parts) part.onRefused?.();
    throw error;
  }
}
