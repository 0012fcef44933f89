import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LOCK_MS, queue, sessionQueue } from './settings.ts';

/** The messages that a transaction sends exist exactly if its settlement took effect. */
function partialTransactions({ history, found }: Ended): readonly string[] {
  return history.of('transact').flatMap(({ tags, delivery, outcome, actor }) => {
    const sent = tags.filter((tag) => found.some((one) => one.tag === tag)).length;
    if (sent > 0 && sent < tags.length)
      return [`${actor}: of ${tags.join(' ')} only a part exists.`];
    if (outcome === 'done' && sent === 0 && !history.mayHave('complete', 'receive')) {
      return [`${actor}: ${tags.join(' ')} does not exist.`];
    }
    if (delivery === undefined || sent === 0) return [];
    const isThere = found.some(({ tag }) => tag === delivery.tag);
    return isThere
      ? [`${actor}: ${tags.join(' ')} was sent, and ${delivery.tag} still exists.`]
      : [];
  });
}

/** If one of two attempts of a transaction succeeds, the other one is not refused. */
function refusedRepeats({ history }: Ended): readonly string[] {
  const attempts = history.of('transact');
  if (!attempts.some(({ outcome }) => outcome === 'done')) return [];
  return attempts
    .filter(({ outcome }) => outcome === 'refused')
    .map(({ actor, code }) => `${actor} got ${code} for a transaction that was done.`);
}

/** After one of two attempts of a transaction was refused for good, the transaction has changed nothing. */
function doneAfterRefusal({ history, found }: Ended): readonly string[] {
  return history
    .of('transact')
    .filter(({ outcome, code = '' }) => outcome === 'refused' && !MAY_BE_REPEATED.has(code))
    .flatMap(({ actor, code, tags }) =>
      found
        .filter(({ tag }) => tags.includes(tag))
        .map(({ tag }) => `${actor} got ${code} for a transaction that sent ${tag}.`),
    );
}

/** The codes after which a client repeats a transaction, so that they are not its last answer. */
const MAY_BE_REPEATED: ReadonlySet<string> = new Set(['ServiceBusy', 'TransactionAborted']);

/** Transactions. */
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
    check: partialTransactions,
  }),
  world({
    name: 'transaction × expiry of the lock × claim',
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
    check: partialTransactions,
  }),
  world({
    name: 'transaction × transaction with the same id',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'same'),
      B: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'same'),
    },
    check: (ended) => [...partialTransactions(ended), ...refusedRepeats(ended)],
  }),
  world({
    name: 'transaction × transaction of sends with the same id',
    entities: { q: queue(), r: queue() },
    setUp: async () => {},
    actors: {
      A: async (actor) => await actor.transact(undefined, { q: ['a'], r: ['b'] }, 'same'),
      B: async (actor) => await actor.transact(undefined, { q: ['a'], r: ['b'] }, 'same'),
    },
    check: partialTransactions,
  }),
  world({
    name: 'transaction with a late write, repeated in another process × expiry of the lock',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    faults: ['lateUnheard'],
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'same'),
      B: async (actor, [message]) => {
        await actor.after('A');
        await actor.transact(message, { r: ['b'] }, 'same');
      },
      T: async (actor) => await actor.pass(LOCK_MS),
    },
    check: (ended) => [...partialTransactions(ended), ...doneAfterRefusal(ended)],
  }),
  world({
    name: 'transaction in a session with a late write, repeated in another process × expiry of the lock',
    entities: { q: sessionQueue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', sessionId: 's' });
      const session = await actor.accept('q', 's');
      return await actor.receive('q', 1, session);
    },
    faults: ['lateUnheard'],
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'same'),
      B: async (actor, [message]) => {
        await actor.after('A');
        await actor.transact(message, { r: ['b'] }, 'same');
      },
      T: async (actor) => await actor.pass(LOCK_MS),
    },
    check: (ended) => [...partialTransactions(ended), ...doneAfterRefusal(ended)],
  }),
  world({
    name: 'transaction with a late write, repeated in another process × update that disables its destination',
    entities: { q: queue(), r: queue() },
    knows: 'nothing',
    setUp: async () => {},
    faults: ['lateUnheard'],
    actors: {
      A: async (actor) => await actor.transact(undefined, { q: ['a'], r: ['b'] }, 'same'),
      U: async (actor) => await actor.update('q', queue({ status: 'SendDisabled' })),
      B: async (actor) => {
        await actor.after('A');
        await actor.transact(undefined, { q: ['a'], r: ['b'] }, 'same');
      },
    },
    check: (ended) => [...partialTransactions(ended), ...doneAfterRefusal(ended)],
  }),
  world({
    name: 'transaction × transaction on one block, with split transactions',
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
    check: partialTransactions,
  }),
  world({
    name: 'transaction with a late write × transaction in the same session, with split transactions, then receive',
    runsMax: 200,
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
