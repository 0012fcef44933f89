import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LOCK_MS, queue, sessionQueue } from './settings.ts';

/** What a transaction sends is there exactly where its settlement counts. */
function isWhole({ history, found }: Ended): readonly string[] {
  return history.of('transact').flatMap(({ tags, delivery, heard, actor }) => {
    const sent = tags.filter((tag) => found.some((one) => one.tag === tag)).length;
    if (sent > 0 && sent < tags.length)
      return [`${actor}: of ${tags.join(' ')} only a part is there.`];
    if (heard === 'done' && sent === 0 && !history.mayHave('complete', 'receive')) {
      return [`${actor}: ${tags.join(' ')} is not there.`];
    }
    if (delivery === undefined || sent === 0) return [];
    const isThere = found.some(({ tag }) => tag === delivery.tag);
    return isThere
      ? [`${actor}: ${tags.join(' ')} was sent, and ${delivery.tag} is still there.`]
      : [];
  });
}

/** Where one of two attempts was told that it was carried out, the other one is told so as well. */
function bothAreTold({ history }: Ended): readonly string[] {
  const attempts = history.of('transact');
  if (!attempts.some(({ heard }) => heard === 'done')) return [];
  return attempts
    .filter(({ heard }) => heard === 'refused')
    .map(({ actor, code }) => `${actor} was told ${code} of a transaction that was carried out.`);
}

/** Several operations, all or none. */
export const transactionWorlds = [
  world({
    name: 'transaction × complete of the same lock',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b', 'c'] }),
      B: async (actor, [message]) => await actor.complete(message),
    },
    check: isWhole,
  }),
  world({
    name: 'transaction × lapse × claim',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b'] }),
      B: async (actor) => void (await actor.receive('q')),
      T: async (actor) => await actor.pass(LOCK_MS),
    },
    check: isWhole,
  }),
  world({
    name: 'a transaction that is asked for twice',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'same'),
      B: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'same'),
    },
    check: (ended) => [...isWhole(ended), ...bothAreTold(ended)],
  }),
  world({
    name: 'a transaction of sends that is asked for twice',
    entities: { q: queue(), r: queue() },
    setUp: async () => {},
    actors: {
      A: async (actor) => await actor.transact(undefined, { q: ['a'], r: ['b'] }, 'same'),
      B: async (actor) => await actor.transact(undefined, { q: ['a'], r: ['b'] }, 'same'),
    },
    check: isWhole,
  }),
  world({
    name: 'transaction × transaction on one block, in halves',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q', 2);
    },
    splitsTransactions: true,
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['c'] }),
      B: async (actor, [, message]) => await actor.transact(message, { r: ['d'] }),
    },
    check: isWhole,
  }),
  world({
    name: 'transaction with a late write × transaction in the same session, in halves, then take everything',
    runsMax: 600,
    entities: { q: sessionQueue() },
    setUp: async () => {},
    splitsTransactions: true,
    faults: ['late'],
    actors: {
      A: async (actor) => await actor.transact(undefined, { q: [{ tag: 'a', sessionId: 's' }] }),
      B: async (actor) => {
        await actor.transact(undefined, { q: [{ tag: 'b', sessionId: 's' }] });
        const session = await actor.accept('q', 's');
        const [first] = await actor.receive('q', 1, session);
        await actor.complete(first);
      },
    },
  }),
];
