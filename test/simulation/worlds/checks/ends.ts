import type { Found } from '../ending.ts';
import type { Call, History } from '../history.ts';
import type { World } from '../world.ts';
import { deliveriesOf, maxDeliveriesOf, pairsOf } from './deliveries.ts';

/** What takes messages away that nobody named. */
const WIPERS = ['purge', 'delete'] as const;

/** Each message is where it must be at the end, once. */
export function wrongEnds(history: History, found: readonly Found[], world: World): string[] {
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
    if (there.length > 0) {
      const isGone = removals.find(
        ({ heard, delivery }) =>
          heard === 'done' && (!hasCopies || there.some(({ path }) => path === delivery?.path)),
      );
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
export function wrongCounts(history: History, found: readonly Found[], world: World): string[] {
  if (history.mayHave('defer', 'release', 'accept', 'operate', 'create')) return [];
  const all = deliveriesOf(history).filter(({ delivery }) => !delivery.path.includes('$'));
  const same = pairsOf(all)
    .filter(([a, b]) => a.delivery.tag === b.delivery.tag && a.delivery.path === b.delivery.path)
    .filter(([a, b]) => a.delivery.failedDeliveries === b.delivery.failedDeliveries)
    .map(([a]) => `Two deliveries of ${a.delivery.tag} have the same count.`);
  const tooMany = all
    .filter(({ delivery }) => delivery.failedDeliveries >= maxDeliveriesOf(world, delivery.path))
    .map(({ delivery: { tag, path } }) => `${tag} was handed out more often than ${path} allows.`);
  const unheard = history.of('receive').filter(({ heard }) => heard === 'unknown').length;
  const wrong = found.flatMap(({ tag, path, failedDeliveries }) => {
    if (world.entities[path] === undefined) return [];
    const heard = all.filter(
      ({ delivery }) => delivery.tag === tag && delivery.path === path,
    ).length;
    if (failedDeliveries >= heard && failedDeliveries <= heard + unheard) return [];
    return [`${tag} had ${heard} deliveries, and shows ${failedDeliveries}.`];
  });
  return [...same, ...tooMany, ...wrong];
}
