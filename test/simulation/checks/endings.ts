import type { OperationRecord } from '../clients/record.ts';
import { CLOCK_OFF_MS_MAX } from '../scenario/draw.ts';
import { entityOf } from '../scenario/scenario.ts';
import type { Copy } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { mayHaveRemovedMore } from './taken.ts';
import { type CheckName, type Violation, violation } from './violation.ts';

/** A message that was there when all was over. */
export interface Found {
  readonly tag: string;
  /** Of the queue in which it was, with its sub-queue. */
  readonly path: string;
  /** Whether it could not be had before the sweep had run for days. */
  readonly isLate: boolean;
}

/** Once everybody has gone: what was accepted is there or was completed, once; all of a batch or nothing. */
export function checkEndings(ledger: Ledger, found: readonly Found[]): readonly Violation[] {
  const places = new Map<Copy, Found[]>();
  const strangers: Violation[] = [];
  for (const one of found) {
    const copy = ledger.at(one.tag, one.path);
    if (copy === undefined) {
      strangers.push(
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
    ...strangers,
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
    return problem('lost', 'was accepted, and could not be had for a day');
  }
  if (copy.outcome === 'refused' && (found.length > 0 || copy.wasSeen)) {
    return problem('answer', 'is there although its send was refused');
  }
  if (found.length > 0 && isOver(copy))
    return problem('returned', 'was found after it was completed');
  return [];
}

function isOver(copy: Copy): boolean {
  return (
    copy.settlements.some(({ item }) => item.how === 'complete' && item.outcome === 'done') ||
    copy.deliveries.some(({ delivery }) => delivery.lockToken === undefined)
  );
}

/** How often a receive chooses anew after a removal of which nothing was heard. */
const CHOICES = 4;

/** What was accepted and is nowhere, though nobody can have taken it away. */
function checkLost(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  const missing = ledger.copies.filter(
    (copy) =>
      copy.outcome === 'done' &&
      !places.has(copy) &&
      !isOver(copy) &&
      copy.mayBeGone.size === 0 &&
      !mayExpire(ledger, copy) &&
      !mayBeDuplicate(ledger, copy),
  );
  // A receive that removes what it hands out, and whose answers got lost, took at most so many.
  const budgets = new Map<string, number>();
  for (const record of ledger.records) {
    const { action, deliveries } = record;
    if (action.kind !== 'receive' || action.mode !== 'receiveAndDelete') continue;
    if (!mayHaveRemovedMore(ledger.scenario, record)) continue;
    const entity = entityOf(action.from);
    budgets.set(
      entity,
      (budgets.get(entity) ?? 0) + CHOICES * action.max - (deliveries?.length ?? 0),
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
        `${copy.tag} was accepted by operation ${copy.sent.number} for ${copy.end} and is gone`,
        records,
        [copy.tag],
      ),
    ];
  });
}

/** Whether its time to live can have ended, so that it was dropped. */
function mayExpire(ledger: Ledger, copy: Copy): boolean {
  const entities = [copy.to, ...ledger.routes.queues(copy.end)].map((path) =>
    ledger.routes.entity(path),
  );
  const hasDefault = entities.some(
    (entity) =>
      entity !== undefined && entity.kind !== 'topic' && entity.defaultTimeToLiveMs !== undefined,
  );
  if (copy.message.timeToLiveMs === undefined && !hasDefault) return false;
  // A deferred message that has expired is not dead-lettered until somebody asks for it.
  if (copy.settlements.some(({ item }) => item.how === 'defer' && item.outcome !== 'refused'))
    return true;
  return entities.some(
    (entity) => entity === undefined || entity.kind === 'topic' || !entity.deadLettersExpired,
  );
}

/** Whether another message with its id may have been stored in its stead. */
function mayBeDuplicate(ledger: Ledger, copy: Copy): boolean {
  return ledger.routes.detectionMs(copy.to) !== undefined && ledger.withSameId(copy).size > 1;
}

/** Of messages with one id that came within the window, one is stored, and one is. */
function checkDuplicates(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  if (ledger.records.some(({ action }) => action.kind === 'recreate')) return [];
  const isStored = (copy: Copy) => copy.wasSeen || places.has(copy);
  for (const all of ofOneId(ledger)) {
    const [{ to, message }] = all;
    const windowMs = ledger.routes.detectionMs(to) ?? 0;
    const stored = all.filter(isStored);
    for (const copy of stored) {
      const twin = stored.find(
        (other) =>
          other !== copy &&
          other.sent.start >= copy.sent.end &&
          other.sent.end - copy.sent.start < windowMs - 2 * CLOCK_OFF_MS_MAX,
      );
      if (twin === undefined) continue;
      const text = `${copy.tag} and ${twin.tag} have the id ${message.messageId}, and ${to} took both`;
      return [violation('duplicate', text, [copy.sent, twin.sent], [copy.tag, twin.tag])];
    }
    // Of a topic, each subscription has what it asked for: another one may have got the original.
    if (ledger.routes.entity(to)?.kind === 'topic') continue;
    const isExplained =
      stored.length > 0 || all.some((one) => one.mayBeGone.size > 0 || mayExpire(ledger, one));
    const mayBeTaken = ledger.isEverTaken(all[0]);
    if (all.some(({ outcome }) => outcome === 'done') && !isExplained && !mayBeTaken) {
      const text = `${all.map(({ tag }) => tag).join(', ')} have the id ${message.messageId}; some were accepted and none is there`;
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

/** The copies at one place of messages that were sent to an entity with one id, where it knows them again. */
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

/** A send, and a transaction, of which nothing was heard was carried out as a whole or not at all. */
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
    // Each entity knows its own duplicates; messages that wait for their time go separately to a topic.
    const certain = copies.filter((copy) => isCertain(ledger, copy));
    const there = certain.filter((copy) => copy.wasSeen || places.has(copy));
    const missing = certain.filter((copy) => !copy.wasSeen && !places.has(copy));
    const [one] = there;
    const [other] = missing;
    if (one === undefined || other === undefined) continue;
    const text = `operation ${record.number} was carried out in part: ${one.tag} is there and ${other.tag} is not`;
    return [violation('transaction', text, [record], [one.tag, other.tag])];
  }
  return checkHalves(ledger, places);
}

function isCertain(ledger: Ledger, copy: Copy): boolean {
  const detects = ledger.routes.detectionMs(copy.to) !== undefined;
  const isTaken = ledger.isEverTaken(copy);
  return (
    !detects &&
    !isTaken &&
    copy.mayBeGone.size === 0 &&
    !mayExpire(ledger, copy) &&
    (copy.to === copy.end || copy.message.delayMs === undefined)
  );
}

/** Whether another operation completed a message, or may have. */
function isCompletedElse({ settlements }: Copy, record: OperationRecord): boolean {
  return settlements.some(
    (one) => one.record !== record && one.item.how === 'complete' && one.item.outcome !== 'refused',
  );
}

/** What a transaction completed does not come again where what it sent is there, and the other way round. */
function checkHalves(
  ledger: Ledger,
  places: ReadonlyMap<Copy, readonly Found[]>,
): readonly Violation[] {
  for (const record of ledger.records) {
    const { action } = record;
    if (action.kind !== 'transact' || action.how !== 'complete' || record.heard !== 'unknown')
      continue;
    const sent = ledger.copies.filter((copy) => copy.sent === record && isCertain(ledger, copy));
    const isSent = sent.some((copy) => copy.wasSeen || places.has(copy));
    const isMissing = sent.some((copy) => !copy.wasSeen && !places.has(copy));
    for (const { delivery } of record.settled ?? []) {
      const copy = ledger.at(delivery.tag, delivery.path);
      if (copy === undefined) continue;
      const isBack =
        places.has(copy) ||
        copy.deliveries.some(
          (one) => one.delivery.id !== delivery.id && one.record.start >= record.end,
        );
      const isSettledElse = copy.settlements.some(
        (one) =>
          one.record !== record &&
          one.item.delivery.id === delivery.id &&
          one.item.outcome !== 'refused',
      );
      if (isSettledElse) continue;
      if (isSent && isBack) {
        const text = `operation ${record.number} was carried out in part: it sent, and ${copy.tag} came again`;
        return [violation('transaction', text, [record], [copy.tag])];
      }
      const others = copy.mayBeGone.size > 1 || isCompletedElse(copy, record);
      if (isMissing && !isBack && !others && !isOver(copy) && !mayExpire(ledger, copy)) {
        const text = `operation ${record.number} was carried out in part: ${copy.tag} is gone, and what it sent is not there`;
        return [violation('transaction', text, [record], [copy.tag])];
      }
    }
  }
  return [];
}
