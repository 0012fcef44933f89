import type { OperationOutcome, TransactionIdentity } from '../../broker/broker.ts';
import type { IdentifiedAttempt } from '../../broker/ports/transactions.ts';
import { assert } from '../../domain/assert.ts';
import { sessionLockLost } from '../../domain/blocks/session.ts';
import {
  type BrokerError,
  invalidOperation,
  lockLost,
  transactionAborted,
} from '../../domain/broker-error.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { type Item, type ItemKey, keyItem, type Write } from '../dynamodb/table.ts';
import { afterStoring } from '../dynamodb/unknown-outcome.ts';
import { transactionKey } from '../schema/message-keys.ts';
import { GARBAGE_AFTER } from '../schema/tables.ts';
import type { StoreContext } from '../store-context.ts';

/**
 * The record of a transaction under the client's id, written in the same DynamoDB transaction: a client that repeats
 * the request gets the same answer (semantics U5).
 *
 *     x   until when it is kept, epoch ms     gc  the same in seconds, for the table's own expiry
 *
 * With an answer:
 *
 *     h  fingerprint of the request           o  outcomes, JSON
 *     e  the operation whose lock was lost, and
 *     c  the code of that refusal, absent = MessageLockLost, in place of outcomes
 *
 * After another refusal, which does not stay the answer:
 *
 *     r  its mark. Each attempt writes on the condition that the record is as it was when the attempt began, so the
 *        write of an earlier attempt that arrives late is refused.
 */

const KEPT_MS = 24 * 60 * 60 * 1000;
const MARK_BYTES = 8;

/** The refusals that stay the answer. A lock that is lost stays lost, so no repeat can succeed. */
const STORED_REFUSALS: Readonly<Partial<Record<string, () => BrokerError>>> = {
  MessageLockLost: lockLost,
  SessionLockLost: sessionLockLost,
};

/** The write that stores the outcomes of a transaction, on the condition that the record is as the attempt found it. */
export function keepOutcomes(
  context: StoreContext,
  attempt: IdentifiedAttempt,
  outcomes: readonly OperationOutcome[],
): Write {
  const { fingerprint } = attempt.identity;
  const answer = { h: { S: fingerprint }, o: { S: JSON.stringify(outcomes.map(toRow)) } };
  return recordWrite(context, attempt, answer);
}

/** The stored outcomes of a transaction; if it was neither carried out nor finally refused, the attempt to make. */
export async function lookUpTransaction(
  context: StoreContext,
  identity: TransactionIdentity,
): Promise<readonly OperationOutcome[] | IdentifiedAttempt> {
  const item = await read(context, identity);
  const attempt = { identity, refusal: item?.['r']?.B };
  return (item && answerOf(item, attempt)) ?? attempt;
}

/** Reads the record of a transaction, unless it has expired. */
async function read(
  context: StoreContext,
  identity: TransactionIdentity,
): Promise<Item | undefined> {
  const item = await context.table.get(keyOf(context, identity), { consistent: true });
  return Number(item?.['x']?.N ?? 0) <= context.clock.now() ? undefined : item;
}

/**
 * Finds the final answer of a transaction, an attempt of which was refused (semantics U5); undefined = the refusal. The
 * client repeats a retryable refusal, so it only reads whether another attempt was carried out (1 RU). Any other
 * refusal it stores, or a mark of it, so that no earlier attempt can be carried out later (1 WU). Throws
 * TransactionAborted if another attempt was refused meanwhile; ServiceTimeout if the request fails, since the outcome
 * is then unknown.
 */
export async function resolveTransaction(
  context: StoreContext,
  attempt: IdentifiedAttempt,
  error: BrokerError,
): Promise<readonly OperationOutcome[] | undefined> {
  if (error.retryable) {
    const item = await afterStoring(read(context, attempt.identity));
    return item && answerOf(item, attempt);
  }
  const mark = context.random.bytes(MARK_BYTES);
  const { put, ...condition } = recordWrite(context, attempt, refusalOf(attempt, error, mark));
  const written = await afterStoring(context.table.put(put, condition));
  if (written.done) return undefined;
  const { old = {} } = written;
  const answer = answerOf(old, attempt);
  if (answer !== undefined) return answer;
  const isOwn = isSameBytes(old['r']?.B, mark);
  if (isOwn) return undefined;
  throw transactionAborted();
}

/** What a refusal stores. */
function refusalOf(
  { identity: { fingerprint } }: IdentifiedAttempt,
  { code, operation = 0 }: BrokerError,
  mark: Uint8Array,
): Item {
  if (STORED_REFUSALS[code] === undefined) return { r: { B: mark } };
  return { h: { S: fingerprint }, e: { N: String(operation) }, c: { S: code } };
}

/** The answer in a record; throws it if it is a refusal. Undefined = there is none yet. */
export function answerOf(
  item: Item,
  { identity: { id, fingerprint } }: IdentifiedAttempt,
): readonly OperationOutcome[] | undefined {
  if (item['h'] === undefined) return undefined;
  if (item['h'].S !== fingerprint) {
    throw invalidOperation(
      `The id '${id}' is that of an earlier request, which is not the same as this one.`,
    );
  }
  if (item['e']?.N !== undefined) {
    const refusal = STORED_REFUSALS[item['c']?.S ?? ''] ?? lockLost;
    throw refusal().ofOperation(Number(item['e'].N));
  }
  const rows: unknown = JSON.parse(item['o']?.S ?? '');
  assert(Array.isArray(rows), 'outcomes are a list');
  return rows.map(fromRow);
}

function keyOf({ namespace }: StoreContext, { id }: TransactionIdentity): ItemKey {
  return transactionKey(namespace, id);
}

/** Writes the record if it is as the attempt found it. */
function recordWrite(
  context: StoreContext,
  { identity, refusal }: IdentifiedAttempt,
  content: Item,
): Extract<Write, { put: Item }> {
  const now = context.clock.now();
  const until = now + KEPT_MS;
  const put = {
    ...keyItem(keyOf(context, identity)),
    x: { N: String(until) },
    [GARBAGE_AFTER]: { N: String(Math.ceil(until / 1000)) },
    ...content,
  };
  const ReturnValuesOnConditionCheckFailure = 'ALL_OLD';
  return refusal === undefined
    ? {
        put,
        ConditionExpression: 'attribute_not_exists(pk) OR x <= :now',
        ExpressionAttributeValues: { ':now': { N: String(now) } },
        ReturnValuesOnConditionCheckFailure,
      }
    : {
        put,
        ConditionExpression: 'r = :refusal',
        ExpressionAttributeValues: { ':refusal': { B: refusal } },
        ReturnValuesOnConditionCheckFailure,
      };
}

/** The stored form of an outcome: numbers as text for a send, the instant for a renewal, null for a settlement. */
function toRow(outcome: OperationOutcome): unknown {
  switch (outcome.kind) {
    case 'sent':
      return outcome.sequenceNumbers.map((number) => number?.toString() ?? null);
    case 'renewed':
      return outcome.lockedUntil;
    case 'settled':
      return null;
  }
}

function fromRow(row: unknown): OperationOutcome {
  if (typeof row === 'number') return { kind: 'renewed', lockedUntil: row };
  if (!Array.isArray(row)) return { kind: 'settled' };
  const sequenceNumbers = row.map((text: unknown) =>
    typeof text === 'string' ? BigInt(text) : undefined,
  );
  return { kind: 'sent', sequenceNumbers };
}
