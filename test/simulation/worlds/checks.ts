import type { Delivery } from './delivery.ts';
import type { Found } from './ending.ts';
import type { Call, History } from './history.ts';
import type { World } from './world.ts';

/** What must hold in every world; returns what does not. */
export function checkHistory(
  history: History,
  found: readonly Found[],
  world: World,
): readonly string[] {
  return [
    ...unexpectedFailures(history),
    ...sharedLocks(history),
    ...sharedRemovals(history),
    ...falseSettlements(history),
    ...falseRefusals(history),
    ...wrongEnds(history, found, world),
    ...wrongCounts(history, found, world),
    ...falseEmpties(history, world),
    ...sharedSessions(history),
  ];
}

interface Delivered {
  readonly call: Call;
  readonly delivery: Delivery;
}

function deliveriesOf(history: History): readonly Delivered[] {
  return history.calls.flatMap((call) => call.deliveries.map((delivery) => ({ call, delivery })));
}

function unexpectedFailures(history: History): string[] {
  return history.calls.flatMap(({ actor, kind, heard, code }) =>
    heard === 'failed' ? [`${actor}: ${kind} failed with what is no refusal: ${code}`] : [],
  );
}

/** Ends of locks by something other than time and settlements. */
const LOCK_ENDERS = ['update', 'delete', 'release', 'operate', 'purge'] as const;

/** Until when a lock lasted at most, epoch ms. */
function lastsUntil(history: History, { lockToken, lockedUntil = 0 }: Delivery): number {
  const renewals = history
    .of('renew')
    .filter(({ delivery }) => delivery?.lockToken === lockToken)
    .map((call) => (call.heard === 'unknown' ? Number.POSITIVE_INFINITY : (call.lockedUntil ?? 0)));
  return Math.max(lockedUntil, ...renewals);
}

/** The settlements of one delivery that may have been carried out. */
function settlementsOf(history: History, { lockToken }: Delivery): readonly Call[] {
  return history.calls.filter(
    ({ kind, delivery, heard }) =>
      delivery?.lockToken === lockToken && kind !== 'renew' && heard !== 'refused',
  );
}

/** A message is in one pair of hands at a time. */
function sharedLocks(history: History): string[] {
  if (history.mayHave(...LOCK_ENDERS)) return [];
  const locked = deliveriesOf(history).filter(({ delivery }) => delivery.lockToken !== undefined);
  return pairsOf(locked).flatMap(([a, b]) => {
    if (a.delivery.tag !== b.delivery.tag || a.delivery.path !== b.delivery.path) return [];
    if (endsBefore(history, a, b) || endsBefore(history, b, a)) return [];
    return [
      `${a.delivery.tag} was handed to ${a.call.actor} and ${b.call.actor} at the same time.`,
    ];
  });
}

/** Whether a lock may have ended before another delivery was over. */
function endsBefore(history: History, a: Delivered, b: Delivered): boolean {
  if (b.call.end < a.call.start) return false;
  if ((a.delivery.lockedUntil ?? 0) <= b.call.endAt) return true;
  return settlementsOf(history, a.delivery).some(
    ({ kind, start }) => kind !== 'complete' && kind !== 'transact' && start <= b.call.end,
  );
}

/** What was removed as it was handed out, or completed, nobody else gets afterwards. */
function sharedRemovals(history: History): string[] {
  const all = deliveriesOf(history);
  const removed = all.flatMap((one) => {
    if (one.delivery.lockToken === undefined) return [{ ...one, at: one.call }];
    const done = settlementsOf(history, one.delivery).find(
      ({ kind, heard }) => heard === 'done' && (kind === 'complete' || kind === 'transact'),
    );
    return done === undefined ? [] : [{ ...one, at: done }];
  });
  const again = removed.flatMap(({ call, delivery, at }) =>
    all
      .filter((other) => other.call !== call && other.delivery.tag === delivery.tag)
      .filter((other) => other.delivery.lockToken === undefined || other.call.start >= at.end)
      .map(
        (other) => `${delivery.tag} was gone for ${at.actor}, and handed to ${other.call.actor}.`,
      ),
  );
  const twice = pairsOf(removed)
    .filter(([a, b]) => a.delivery.tag === b.delivery.tag)
    .map(([a, b]) => `${a.delivery.tag} was completed by ${a.at.actor} and by ${b.at.actor}.`);
  return [...again, ...twice];
}

const SETTLEMENTS = ['complete', 'abandon', 'defer', 'deadLetter', 'transact', 'renew'] as const;

/** What was settled was under the lock of whoever did. */
function falseSettlements(history: History): string[] {
  return history.of(...SETTLEMENTS).flatMap((call) => {
    const { delivery, heard, actor, kind } = call;
    if (delivery === undefined || heard !== 'done') return [];
    if (delivery.session === undefined && lastsUntil(history, delivery) <= call.startAt) {
      return [`${actor}: ${kind} of ${delivery.tag} succeeded after its lock had run out.`];
    }
    const later = deliveriesOf(history).find(
      (other) =>
        other.delivery.tag === delivery.tag &&
        other.delivery.lockToken !== delivery.lockToken &&
        other.call.end <= call.start &&
        other.delivery.failedDeliveries > delivery.failedDeliveries,
    );
    if (later !== undefined) {
      return [
        `${actor}: ${kind} of ${delivery.tag} succeeded though ${later.call.actor} had it since.`,
      ];
    }
    const twice = history.calls.filter(
      (other) =>
        other.delivery?.lockToken === delivery.lockToken &&
        other !== call &&
        other.kind !== 'renew' &&
        // Asked for again, a transaction has the answer that it had.
        other.kind !== 'transact' &&
        other.heard === 'done' &&
        other.end <= call.start,
    );
    return twice.map(
      (other) => `${actor}: ${kind} of ${delivery.tag} succeeded after ${other.kind} had.`,
    );
  });
}

/** Nobody is told that a lock is lost which nothing can have ended. */
function falseRefusals(history: History): string[] {
  if (history.mayHave(...LOCK_ENDERS)) return [];
  return history.of(...SETTLEMENTS).flatMap((call) => {
    const { delivery, code, actor, kind } = call;
    if (delivery === undefined || call.heard !== 'refused' || code !== 'MessageLockLost') return [];
    if (call.endAt >= (delivery.lockedUntil ?? 0)) return [];
    const others = settlementsOf(history, delivery).filter(({ start }) => start <= call.end);
    return others.length > 0
      ? []
      : [`${actor}: ${kind} of ${delivery.tag} was refused under a live lock.`];
  });
}

/** What takes messages away that nobody named. */
const WIPERS = ['purge', 'delete'] as const;

/** Each message is where it must be at the end, once. */
function wrongEnds(history: History, found: readonly Found[], world: World): string[] {
  const tags = new Set(history.of('send', 'schedule', 'transact').flatMap((call) => call.tags));
  const hasCopies = Object.values(world.entities).some(({ kind }) => kind === 'topic');
  return [...tags].flatMap((tag) => {
    const there = found.filter((one) => one.tag === tag);
    const places = there.map(({ path }) => (hasCopies ? path : ''));
    const sends = history
      .of('send', 'schedule', 'transact')
      .filter((call) => call.tags.includes(tag));
    if (new Set(places).size < places.length) {
      return [
        `${tag} was there ${there.length} times: ${there.map(({ path }) => path).join(', ')}.`,
      ];
    }
    const removals = removalsOf(history, tag);
    if (there.length > 0 && hasCopies) return [];
    if (there.length === 1) {
      const isGone = removals.find(({ heard }) => heard === 'done');
      if (isGone !== undefined)
        return [`${tag} was there after ${isGone.kind} of ${isGone.actor}.`];
      if (sends.every(({ heard }) => heard === 'refused'))
        return [`${tag} was there, though refused.`];
      return [];
    }
    const isStored = sends.some(({ heard }) => heard === 'done');
    if (!isStored || removals.length > 0) return [];
    const last = Math.max(...sends.map(({ start }) => start));
    const isWiped = history
      .of(...WIPERS)
      .some(({ heard, end }) => heard !== 'refused' && end >= last);
    return isWiped ? [] : [`${tag} was lost.`];
  });
}

/** What may have removed a message. */
function removalsOf(history: History, tag: string): readonly Call[] {
  return history.calls.filter((call) => {
    const { kind, heard, delivery } = call;
    if (heard === 'refused' || heard === 'failed') return false;
    if (kind === 'complete' || kind === 'transact') return delivery?.tag === tag;
    if (kind === 'receiveAndDelete') {
      return heard === 'unknown' || call.deliveries.some((one) => one.tag === tag);
    }
    if (kind === 'operate') return call.text === `delete ${tag}` && call.answer !== 'false';
    return kind === 'cancel' && call.tags.includes(tag);
  });
}

/** Deliveries are counted, each once. */
function wrongCounts(history: History, found: readonly Found[], world: World): string[] {
  if (history.mayHave('defer', 'release', 'accept', 'operate', 'create')) return [];
  const all = deliveriesOf(history).filter(({ delivery }) => !delivery.path.includes('$'));
  const same = pairsOf(all)
    .filter(([a, b]) => a.delivery.tag === b.delivery.tag && a.delivery.path === b.delivery.path)
    .filter(([a, b]) => a.delivery.failedDeliveries === b.delivery.failedDeliveries)
    .map(([a]) => `Two deliveries of ${a.delivery.tag} have the same count.`);
  const unheard = history.of('receive').filter(({ heard }) => heard === 'unknown').length;
  const wrong = found.flatMap(({ tag, path, failedDeliveries }) => {
    if (world.entities[path] === undefined) return [];
    const heard = all.filter(
      ({ delivery }) => delivery.tag === tag && delivery.path === path,
    ).length;
    if (failedDeliveries >= heard && failedDeliveries <= heard + unheard) return [];
    return [`${tag} had ${heard} deliveries, and shows ${failedDeliveries}.`];
  });
  return [...same, ...wrong];
}

/** Nobody goes away with nothing where something could be had all the time. */
function falseEmpties(history: History, world: World): string[] {
  if (history.mayHave('accept')) return [];
  return history.of('receive', 'receiveAndDelete').flatMap((call) => {
    if (call.heard !== 'done' || call.deliveries.length > 0) return [];
    const sends = history
      .of('send')
      .filter(({ heard, end, path }) => heard === 'done' && end <= call.start && path === call.path)
      .filter(({ mayExpire }) => mayExpire !== true);
    const settings = world.entities[call.path];
    const most =
      settings !== undefined && settings.kind !== 'topic' ? settings.maxDeliveryCount : 0;
    const isUsedUp = (tag: string) =>
      deliveriesOf(history).filter(({ delivery }) => delivery.tag === tag).length >= (most ?? MOST);
    return sends
      .flatMap(({ tags }) => tags)
      .filter((tag) => !isUsedUp(tag) && isFree(history, tag, call))
      .map((tag) => `${call.actor} received nothing, though ${tag} was there.`);
  });
}

/** How often a queue hands a message out unless its settings say otherwise. */
const MOST = 10;

/** What leaves a message where it is, and free. */
const HARMLESS = new Set(['send', 'receive', 'schedule', 'sweep', 'create', 'renew']);

/** Whether a message surely could be had during a call. */
function isFree(history: History, tag: string, during: Call): boolean {
  return history.calls.every((call) => {
    if (call === during || call.start > during.end) return true;
    if (call.kind === 'receive' && call.heard === 'unknown') return false;
    if (!HARMLESS.has(call.kind) && call.heard !== 'refused') {
      const isAbandoned =
        call.kind === 'abandon' && call.heard === 'done' && call.end <= during.start;
      const isOther = call.delivery !== undefined && call.delivery.tag !== tag;
      if (!isAbandoned && !isOther) return false;
      // Others may not see at once what a process gave back.
      if (isAbandoned && call.actor !== during.actor) return false;
      if (isAbandoned) return true;
    }
    return call.deliveries.every((delivery) => {
      if (delivery.tag !== tag) return true;
      const isBack = history
        .of('abandon')
        .some((one) => one.delivery?.lockToken === delivery.lockToken && one.end <= during.start);
      return isBack || lastsUntil(history, delivery) <= during.startAt;
    });
  });
}

/** A session is in one pair of hands at a time. */
function sharedSessions(history: History): string[] {
  const held = history
    .of('accept')
    .filter(({ heard, answer }) => heard === 'done' && answer !== 'none');
  if (history.mayHave('update', 'delete')) return [];
  const isOver = (a: Call, b: Call) =>
    (a.lockedUntil ?? 0) <= b.endAt ||
    history
      .of('release')
      .some(
        ({ session, heard, start }) =>
          session === a.session && heard !== 'refused' && start <= b.end,
      );
  return pairsOf(held)
    .filter(([a, b]) => a.answer === b.answer && !isOver(a, b) && !isOver(b, a))
    .map(
      ([a, b]) => `Session ${a.answer} was handed to ${a.actor} and ${b.actor} at the same time.`,
    );
}

/** Each two of some. */
function pairsOf<Value>(values: readonly Value[]): readonly (readonly [Value, Value])[] {
  return values.flatMap((a, i) => values.slice(i + 1).map((b) => [a, b] as const));
}
