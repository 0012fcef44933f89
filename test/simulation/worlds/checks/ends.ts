import type { Found } from '../ending.ts';
import type { Call, History } from '../history.ts';
import type { World } from '../world.ts';
import { deliveriesOf, maxDeliveriesOf, pairsOf } from './deliveries.ts';

/** Operations that remove all messages of a queue. */
const QUEUE_REMOVALS = ['purge', 'delete'] as const;

/** At the end each message exists where it must, once. */
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
      return [`${tag} exists ${there.length} times: ${there.map(({ path }) => path).join(', ')}.`];
    }
    const removals = removalsOf(history, tag);
    if (there.length > 0) {
      const removal = removals.find(
        ({ outcome, delivery }) =>
          outcome === 'done' && (!hasCopies || there.some(({ path }) => path === delivery?.path)),
      );
      if (removal !== undefined)
        return [`${tag} exists after ${removal.kind} of ${removal.actor}.`];
      if (sends.every(({ outcome }) => outcome === 'refused'))
        return [`${tag} exists, though its send was refused.`];
      return [];
    }
    const isStored = sends.some(({ outcome }) => outcome === 'done');
    if (!isStored || removals.length > 0) return [];
    const last = Math.max(...sends.map(({ start }) => start));
    const isRemoved = history
      .of(...QUEUE_REMOVALS)
      .some(({ outcome, end }) => outcome !== 'refused' && end >= last);
    return isRemoved ? [] : [`${tag} was lost.`];
  });
}

/** The calls that may have removed a message. */
function removalsOf(history: History, tag: string): readonly Call[] {
  return history.calls.filter((call) => {
    const { kind, outcome, delivery } = call;
    if (outcome === 'refused' || outcome === 'failed') return false;
    if (kind === 'complete' || kind === 'transact') return delivery?.tag === tag;
    if (kind === 'receiveAndDelete') {
      return outcome === 'unknown' || call.deliveries.some((one) => one.tag === tag);
    }
    if (kind === 'operate') return call.text === `delete ${tag}` && call.answer !== 'false';
    return kind === 'cancel' && call.tags.includes(tag);
  });
}

/** Each delivery counts once. */
export function wrongCounts(history: History, found: readonly Found[], world: World): string[] {
  if (history.mayHave('defer', 'release', 'accept', 'operate', 'create')) return [];
  const all = deliveriesOf(history).filter(({ delivery }) => !delivery.path.includes('$'));
  const same = pairsOf(all)
    .filter(([a, b]) => a.delivery.tag === b.delivery.tag && a.delivery.path === b.delivery.path)
    .filter(([a, b]) => a.delivery.failedDeliveries === b.delivery.failedDeliveries)
    .map(([a]) => `Two deliveries of ${a.delivery.tag} have the same count.`);
  const tooMany = all
    .filter(({ delivery }) => delivery.failedDeliveries >= maxDeliveriesOf(world, delivery.path))
    .map(({ delivery: { tag, path } }) => `${tag} was delivered more often than ${path} allows.`);
  const unanswered = history.of('receive').filter(({ outcome }) => outcome === 'unknown').length;
  const wrong = found.flatMap(({ tag, path, failedDeliveries }) => {
    if (world.entities[path] === undefined) return [];
    const received = all.filter(
      ({ delivery }) => delivery.tag === tag && delivery.path === path,
    ).length;
    if (failedDeliveries >= received && failedDeliveries <= received + unanswered) return [];
    return [`${tag} had ${received} deliveries, and its count is ${failedDeliveries}.`];
  });
  return [...same, ...tooMany, ...wrong];
}
