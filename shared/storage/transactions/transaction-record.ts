import type { OperationOutcome, TransactionIdentity } from '../../broker/broker.ts';
import { assert } from '../../domain/assert.ts';
import { BrokerError, lockLost } from '../../domain/broker-error.ts';
import { afterStoring } from '../dynamodb/errors.ts';
import { type Item, type ItemKey, keyItem, type Write } from '../dynamodb/table.ts';
import { transactionKey } from '../schema/message-keys.ts';
import { GARBAGE_AFTER } from '../schema/tables.ts';
import type { StoreContext } from '../store-context.ts';

/**
 * What is kept of a transaction under the id that its client gave it, put in with the transaction
 * itself: who asks again gets the same answer.
 *
 *     h  fingerprint of the request      x   until when it is kept, epoch ms
 *     o  outcomes, JSON                  gc  the same in seconds, for the table's own expiry
 *     e  the operation whose lock was lost, in place of outcomes
 */

const KEPT_MS = 24 * 60 * 60 * 1000;

/** The part of a transaction that keeps its outcomes, unless there is an answer already. */
export function keepOutcomes(
  context: StoreContext,
  identity: TransactionIdentity,
  outcomes: readonly OperationOutcome[],
): Write {
  return answering(context, identity, { o: { S: JSON.stringify(outcomes.map(toRow)) } });
}

/** What a transaction came to before; nothing where it never was carried out or refused for good. */
export async function recall(
  context: StoreContext,
  identity: TransactionIdentity,
): Promise<readonly OperationOutcome[] | undefined> {
  const item = await read(context, identity);
  return item && answerOf(item, identity);
}

/** The record of a transaction, unless its time is over. */
async function read(
  context: StoreContext,
  identity: TransactionIdentity,
): Promise<Item | undefined> {
  const item = await context.table.get(keyOf(context, identity), { consistent: true });
  return Number(item?.['x']?.N ?? 0) <= context.clock.now() ? undefined : item;
}

/**
 * Looks whether another attempt was carried out; a lost lock sees to it that none will be. Throws ServiceTimeout
 * where the look fails: without it nobody knows.
 */
export async function conclude(
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

/** The answer that an item holds; throws it where it is a refusal. */
export function answerOf(
  item: Item,
  { id, fingerprint }: TransactionIdentity,
): readonly OperationOutcome[] {
  if (item['h']?.S !== fingerprint) {
    throw new BrokerError(
      'InvalidOperation',
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

/** Sent: numbers as text; renewed: the instant; settled: null. */
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
