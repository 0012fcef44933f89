import type { DeduplicationCondition } from '../../broker/ports/duplicates.ts';
import { DeduplicationRefused } from '../../domain/messages/duplicates.ts';
import type { Outcome, PreparedWrite } from '../dynamodb/prepared-write.ts';
import { indexesAsBits, toDecisionItem, toRecordItem } from './records.ts';

/** A deduplication condition as part of a write. */
export interface PreparedCondition extends PreparedWrite {
  readonly attempt: string;
}

/**
 * The parts of a write that make it depend on deduplication conditions: the record of a single message, which is valid
 * at once, or the decision that makes the records of a batch valid. `first` = the number of the first message; absent
 * if the sender does not get it.
 */
export function prepareConditions(
  conditions: readonly DeduplicationCondition[],
  first?: bigint,
): readonly PreparedCondition[] {
  return conditions.map((condition) => {
    const { entityId, attempt, until } = condition;
    if (condition.kind === 'batch') {
      const dropped = indexesAsBits(condition.duplicates);
      const put = toDecisionItem(entityId, attempt, { isStored: true, first, dropped }, until);
      return { attempt, writes: [{ put, ConditionExpression: 'attribute_not_exists(pk)' }] };
    }
    const { key, index, now, replaces } = condition;
    const number = first === undefined ? undefined : first + BigInt(index);
    const put = toRecordItem(entityId, key, { until, name: attempt, number });
    return { attempt, writes: [{ put, ...unlessKnown(now, replaces) }] };
  });
}

/** Throws DeduplicationRefused if a deduplication condition of a write failed. */
export function requireConditions(
  outcome: Outcome,
  conditions: readonly PreparedCondition[],
): void {
  if (outcome.done) return;
  const refused = conditions.filter((condition) => outcome.refused.has(condition));
  if (refused.length > 0) throw new DeduplicationRefused(refused.map(({ attempt }) => attempt));
}

/** The condition for writing a record: there is no valid one, or only one of a batch that was given up. */
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
