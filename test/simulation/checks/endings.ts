import type { OperationRecord } from '../clients/record.ts';
import { OFFSET_MS_MAX } from '../scenario/draw.ts';
import { entityOf } from '../scenario/scenario.ts';
import type { Copy } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { mayHaveRemovedMore } from './taken.ts';
import { type CheckName, type Violation, violation } from './violation.ts';

/** A message that was found at the end of a run. */
export interface Found {
  readonly tag: string;
  /** The path of its queue, with the sub-queue. */
  readonly path: string;
  /** Whether it could be received only after several days of sweeps. */
  readonly isLate: boolean;
}

/** At the end each accepted message exists once or was completed; batches are stored entirely or not at all. */
export function checkEndings(ledger: Ledger, found: readonly Found[]): readonly Violation[] {
  const places = new Map<Copy, Found[]>();
  const unexpected: Violation[] = [];
  for (const one of found) {
    const copy = ledger.at(one.tag, one.path);
    if (copy === undefined) {
      unexpected.push(
        violation(
          'duplicate',
          `${one.tag} was found in ${one.path}, where it does not belong`,
          [],
          [one.tag],
        ),
      );
      continue;
    }
    places.set(copy, [...(places.get(copy) ?? []), one]);
  }
  return [
    ...unexpected,
    ...ledger.copies.flatMap((copy) => checkCopy(ledger, copy, places.get(copy) ?? [])),
    ...checkLost(ledger, places),
    ...checkDuplicates(ledger, places),
    ...checkGroups(ledger, places),
  ];
}

function checkCopy(ledger: Ledger, copy: Copy, found: readonly Found[]): readonly Violation[] {
  const records = [copy.sent, ...copy.deliveries.map(({ record }) => record)];
  const problem = (check: CheckName, text: string) => [
    violation(check, `${copy.tag} ${text}`, records, [copy.tag]),
  ];
  if (found.length > 1) {
    const isResubmitted = ledger.records.some(({ action }) => action.kind === 'resubmit');
    return problem(
      'duplicate',
      `was found ${found.length} times, in ${found.map(({ path }) => path).join(' and ')}${isResubmitted ? ' (with resubmissions)' : ''}`,
    );
  }
  const isUnsure =
    copy.mayBeGone.size > 0 || copy.settlements.some(({ item }) => item.outcome === 'unknown');
  if (copy.outcome === 'done' && !isUnsure && found.some(({ isLate }) => isLate)) {
    return problem('lost', 'was accepted, and could not be received for a day');
  }
  if (copy.outcome === 'refused' && (found.length > 0 || copy.wasDelivered)) {
    return problem('answer', 'exists although its send was refused');
  }
  if (found.length > 0 && isRemoved(copy))
    return problem('returned', 'was found after it was completed');
  return [];
}

function isRemoved(copy: Copy): boolean {
  return (
    copy.settlements.some(({ item }) => item.how === 'complete' && item.outcome === 'done') ||
    copy.deliveries.some(({ delivery }) => delivery.lockToken === undefined)
  );
}

/** How often a receive chooses messages again after a deletion without an answer. */
const REMOVALS_MAX = 4;

/** Finds accepted messages that do not exist although no operation can have removed them. */
function checkLost(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  const missing = ledger.copies.filter(
    (copy) =>
      copy.outcome === 'done' &&
      !places.has(copy) &&
      !isRemoved(copy) &&
      copy.mayBeGone.size === 0 &&
      !mayExpire(ledger, copy) &&
      !mayBeDuplicate(ledger, copy),
  );
  // The most messages that receive-and-delete operations may have deleted without returning them.
  const budgets = new Map<string, number>();
  for (const record of ledger.records) {
    const { action, deliveries } = record;
    if (action.kind !== 'receive' || action.mode !== 'receiveAndDelete') continue;
    if (!mayHaveRemovedMore(ledger.scenario, record)) continue;
    const entity = entityOf(action.from);
    budgets.set(
      entity,
      (budgets.get(entity) ?? 0) + REMOVALS_MAX * action.max - (deliveries?.length ?? 0),
    );
  }
  return missing.flatMap((copy) => {
    const queues = ledger.routes.queues(copy.end);
    const taker = queues.find((queue) => (budgets.get(queue) ?? 0) > 0);
    if (taker !== undefined) {
      budgets.set(taker, (budgets.get(taker) ?? 0) - 1);
      return [];
    }
    const records = [
      copy.sent,
      ...copy.deliveries.map(({ record }) => record),
      ...copy.settlements.map(({ record }) => record),
    ];
    return [
      violation(
        'lost',
        `${copy.tag} was accepted by operation ${copy.sent.number} for ${copy.end} and does not exist`,
        records,
        [copy.tag],
      ),
    ];
  });
}

/** Whether it may have expired and been removed. */
function mayExpire(ledger: Ledger, copy: Copy): boolean {
  const entities = [copy.to, ...ledger.routes.queues(copy.end)].map((path) =>
    ledger.routes.entity(path),
  );
  const hasDefault = entities.some(
    (entity) =>
      entity !== undefined && entity.kind !== 'topic' && entity.defaultTimeToLiveMs !== undefined,
  );
  if (copy.message.timeToLiveMs === undefined && !hasDefault) return false;
  // A deferred message that has expired is not dead-lettered until a receiver asks for it.
  if (copy.settlements.some(({ item }) => item.how === 'defer' && item.outcome !== 'refused'))
    return true;
  return entities.some(
    (entity) => entity === undefined || entity.kind === 'topic' || !entity.deadLettersExpired,
  );
}

/** Whether another message with its id may have been stored instead. */
function mayBeDuplicate(ledger: Ledger, copy: Copy): boolean {
  return ledger.routes.detectionMs(copy.to) !== undefined && ledger.withSameId(copy).size > 1;
}

/** Of messages with one id within the detection window, exactly one is stored. */
function checkDuplicates(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  if (ledger.records.some(({ action }) => action.kind === 'recreate')) return [];
  const isStored = (copy: Copy) => copy.wasDelivered || places.has(copy);
  for (const all of ofOneId(ledger)) {
    const [{ to, message }] = all;
    const windowMs = ledger.routes.detectionMs(to) ?? 0;
    const stored = all.filter(isStored);
    for (const copy of stored) {
      const twin = stored.find(
        (other) =>
          other !== copy &&
          other.sent.start >= copy.sent.end &&
          other.sent.end - copy.sent.start < windowMs - 2 * OFFSET_MS_MAX,
      );
      if (twin === undefined) continue;
      const text = `${copy.tag} and ${twin.tag} have the id ${message.messageId}, and ${to} stored both`;
      return [violation('duplicate', text, [copy.sent, twin.sent], [copy.tag, twin.tag])];
    }
    // The stored message of a topic may match other subscriptions than its duplicates.
    if (ledger.routes.entity(to)?.kind === 'topic') continue;
    const isExplained =
      stored.length > 0 || all.some((one) => one.mayBeGone.size > 0 || mayExpire(ledger, one));
    const mayBeTaken = ledger.mayHaveBeenRemoved(all[0]);
    if (all.some(({ outcome }) => outcome === 'done') && !isExplained && !mayBeTaken) {
      const text = `${all.map(({ tag }) => tag).join(', ')} have the id ${message.messageId}; some were accepted and none exists`;
      return [
        violation(
          'lost',
          text,
          all.map(({ sent }) => sent),
          all.map(({ tag }) => tag),
        ),
      ];
    }
  }
  return [];
}

/** Groups of copies at one place with the same id, for entities with duplicate detection. */
function ofOneId(ledger: Ledger): Iterable<readonly [Copy, ...Copy[]]> {
  const groups = new Map<string, [Copy, ...Copy[]]>();
  for (const copy of ledger.copies) {
    if (ledger.routes.detectionMs(copy.to) === undefined) continue;
    const key = `${copy.end} ${ledger.routes.idOf(copy.to, copy.message)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [copy]);
    else group.push(copy);
  }
  return groups.values();
}

/** A send or transaction without an answer was done entirely or not at all. */
function checkGroups(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  const groups = new Map<OperationRecord, Copy[]>();
  for (const copy of ledger.copies) {
    if (copy.outcome !== 'unknown') continue;
    groups.set(copy.sent, [...(groups.get(copy.sent) ?? []), copy]);
  }
  for (const [record, copies] of groups) {
    // isCertain leaves out possible duplicates, and scheduled messages, which a topic publishes one by one.
    const certain = copies.filter((copy) => isCertain(ledger, copy));
    const there = certain.filter((copy) => copy.wasDelivered || places.has(copy));
    const missing = certain.filter((copy) => !copy.wasDelivered && !places.has(copy));
    const [one] = there;
    const [other] = missing;
    if (one === undefined || other === undefined) continue;
    const text = `operation ${record.number} was done in part: ${one.tag} exists and ${other.tag} does not`;
    return [violation('transaction', text, [record], [one.tag, other.tag])];
  }
  return checkTransactions(ledger, places);
}

function isCertain(ledger: Ledger, copy: Copy): boolean {
  const detects = ledger.routes.detectionMs(copy.to) !== undefined;
  const isTaken = ledger.mayHaveBeenRemoved(copy);
  return (
    !detects &&
    !isTaken &&
    copy.mayBeGone.size === 0 &&
    !mayExpire(ledger, copy) &&
    (copy.to === copy.end || copy.message.delayMs === undefined)
  );
}

/** Whether another operation may have completed a message. */
function isCompletedElsewhere({ settlements }: Copy, record: OperationRecord): boolean {
  return settlements.some(
    (one) => one.record !== record && one.item.how === 'complete' && one.item.outcome !== 'refused',
  );
}

/** A transaction's completions took effect exactly if its sends did. */
function checkTransactions(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  for (const record of ledger.records) {
    const { action } = record;
    if (action.kind !== 'transact' || action.how !== 'complete' || record.outcome !== 'unknown')
      continue;
    const sent = ledger.copies.filter((copy) => copy.sent === record && isCertain(ledger, copy));
    const isSent = sent.some((copy) => copy.wasDelivered || places.has(copy));
    const isMissing = sent.some((copy) => !copy.wasDelivered && !places.has(copy));
    for (const { delivery } of record.settled ?? []) {
      const copy = ledger.at(delivery.tag, delivery.path);
      if (copy === undefined) continue;
      const isBack =
        places.has(copy) ||
        copy.deliveries.some(
          (one) => one.delivery.id !== delivery.id && one.record.start >= record.end,
        );
      const isSettledElsewhere = copy.settlements.some(
        (one) =>
          one.record !== record &&
          one.item.delivery.id === delivery.id &&
          one.item.outcome !== 'refused',
      );
      if (isSettledElsewhere) continue;
      if (isSent && isBack) {
        const text = `operation ${record.number} was done in part: its sends took effect, and ${copy.tag} was not completed`;
        return [violation('transaction', text, [record], [copy.tag])];
      }
      const others = copy.mayBeGone.size > 1 || isCompletedElsewhere(copy, record);
      if (isMissing && !isBack && !others && !isRemoved(copy) && !mayExpire(ledger, copy)) {
        const text = `operation ${record.number} was done in part: ${copy.tag} is completed, and its sends did not take effect`;
        return [violation('transaction', text, [record], [copy.tag])];
      }
    }
  }
  return [];
}
