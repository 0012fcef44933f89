import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { DeduplicationCondition } from '../../broker/ports/duplicates.ts';
import { DeduplicationRefused } from '../../domain/messages/duplicates.ts';
import { writeTogether } from '../dynamodb/prepared-write.ts';
import type { Table, Transacted } from '../dynamodb/table.ts';
import { placesAsBits, toDecisionItem, toRecordItem } from './records.ts';

/**
 * The part of a write that lets it happen only under a condition: the record of a single message, which
 * counts at once, or the decision by which the records of a batch count. `first` is the number of
 * the first message; absent where the sender does not learn it.
 */
export function conditionPut(
  { name: TableName }: Table,
  condition: DeduplicationCondition,
  first: bigint | undefined,
): TransactWriteItem {
  const { entityId, attempt, until } = condition;
  if (condition.kind === 'batch') {
    const dropped = placesAsBits(condition.duplicates);
    const Item = toDecisionItem(entityId, attempt, { isStored: true, first, dropped }, until);
    return { Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)' } };
  }
  const { key, place, now, replaces } = condition;
  const number = first === undefined ? undefined : first + BigInt(place);
  const Item = toRecordItem(entityId, key, { until, name: attempt, number });
  return { Put: { TableName, Item, ...unlessKnown(now, replaces) } };
}

/** A record may be written where there is none that counts, or in place of that of a batch that was given up. */
export function unlessKnown(now: number, givenUp: string | undefined) {
  const isFree = 'attribute_not_exists(pk) OR x <= :now';
  const isGivenUp = givenUp === undefined ? '' : ' OR n = :givenUp';
  return {
    ConditionExpression: isFree + isGivenUp,
    ExpressionAttributeValues: {
      ':now': { N: String(now) },
      ...(givenUp === undefined ? {} : { ':givenUp': { S: givenUp } }),
    },
  };
}

/** Writes in one transaction, on a condition if there is one. Throws DeduplicationRefused. */
export async function transactUnder(
  table: Table,
  condition: DeduplicationCondition | undefined,
  first: bigint | undefined,
  writes: readonly TransactWriteItem[],
): Promise<Transacted> {
  if (condition === undefined) return await writeTogether(table, writes);
  const outcome = await writeTogether(table, [conditionPut(table, condition, first), ...writes]);
  if (!outcome.done && outcome.refused.has(0)) throw new DeduplicationRefused([condition.attempt]);
  return outcome;
}
