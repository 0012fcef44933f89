import type { OperationOutcome, TransactionIdentity } from '../../broker/broker.ts';
import { assert } from '../../domain/assert.ts';
import { type BrokerError, invalidOperation, lockLost } from '../../domain/broker-error.ts';
import { afterStoring } from '../dynamodb/errors.ts';
import { type Item, type ItemKey, keyItem, type Write } from '../dynamodb/table.ts';
import { transactionKey } from '../schema/message-keys.ts';
import { GARBAGE_AFTER } from '../schema/tables.ts';
import type { StoreContext } from '../store-context.ts';

/**
 * The record of a transaction under the client's id, written in the same DynamoDB transaction: a client that repeats
 * the request gets the same answer (semantics U5).
 *
 *     h  fingerprint of the request      x   until when it is kept, epoch ms
 *     o  outcomes, JSON                  gc  the same in seconds, for the table's own expiry
 *     e  the operation whose lock was lost, in place of outcomes
 */

const KEPT_MS = 24 * 60 * 60 * 1000;

/** The write that stores the outcomes of a transaction, on the condition that there is no answer yet. */
export function keepOutcomes(
  context: StoreContext,
  identity: TransactionIdentity,
  outcomes: readonly OperationOutcome[],
): Write {
  return answering(context, identity, { o: { S: JSON.stringify(outcomes.map(toRow)) } });
}

/** The stored outcomes of a transaction; undefined if it was neither carried out nor finally refused. */
export async function lookUpTransaction(
  context: StoreContext,
  identity: TransactionIdentity,
): Promise<readonly OperationOutcome[] | undefined> {
  const item = await read(context, identity);
  return item && answerOf(item, identity);
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
 * Reads whether another attempt was carried out. After a lost lock it also prevents later attempts (semantics U5).
 * Throws ServiceTimeout if the read fails, since the outcome is then unknown.
 */
export async function resolveTransaction(
  context: StoreContext,
  identity: TransactionIdentity,
  { code, operation = 0 }: BrokerError,
): Promise<readonly OperationOutcome[] | undefined> {
  if (code !== 'MessageLockLost') {
    const item = await afterStoring(read(context, identity));
    return item && answerOf(item, identity);
  }
  const { put: refusal, ...condition } = answering(context, identity, {
    e: { N: String(operation) },
  });
  const written = await afterStoring(context.table.put(refusal, condition));
  if (written.done) return undefined;
  return written.old === undefined ? undefined : answerOf(written.old, identity);
}

/** The answer in a record; throws it if it is a refusal. */
export function answerOf(
  item: Item,
  { id, fingerprint }: TransactionIdentity,
): readonly OperationOutcome[] {
  if (item['h']?.S !== fingerprint) {
    throw invalidOperation(
      `The id '${id}' is that of another transaction, which is not the same as this one.`,
    );
  }
  if (item['e']?.N !== undefined) throw lockLost().ofOperation(Number(item['e'].N));
  const rows: unknown = JSON.parse(item['o']?.S ?? '');
  assert(Array.isArray(rows), 'outcomes are a list');
  return rows.map(fromRow);
}

function keyOf({ namespace }: StoreContext, { id }: TransactionIdentity): ItemKey {
  return transactionKey(namespace, id);
}

function answering(context: StoreContext, identity: TransactionIdentity, answer: Item) {
  const now = context.clock.now();
  const until = now + KEPT_MS;
  return {
    put: {
      ...keyItem(keyOf(context, identity)),
      h: { S: identity.fingerprint },
      x: { N: String(until) },
      [GARBAGE_AFTER]: { N: String(Math.ceil(until / 1000)) },
      ...answer,
    },
    ConditionExpression: 'attribute_not_exists(pk) OR x <= :now',
    ExpressionAttributeValues: { ':now': { N: String(now) } },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const;
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
