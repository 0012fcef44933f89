import { entityTag } from '../../../../shared/broker/management/if-match.ts';
import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LOCK_MS, queue } from './settings.ts';

/** Messages sent before a purge or a deletion of the entity do not exist afterwards. */
function foundAfterRemoval({ history, found }: Ended): readonly string[] {
  const removals = history.of('purge', 'delete').filter(({ outcome }) => outcome === 'done');
  return found.flatMap(({ tag, path }) => {
    const sends = history.of('send').filter(({ tags }) => tags.includes(tag));
    const removal = removals.find(({ start }) =>
      sends.every(({ end }) => end < start || end === -1),
    );
    return removal === undefined ? [] : [`${tag} was still in ${path} after ${removal.kind}.`];
  });
}

/** Locks taken before an update, purge or deletion are lost once it is answered. */
function settledAfterChange({ history }: Ended): readonly string[] {
  const changes = history
    .of('update', 'purge', 'delete')
    .filter(({ outcome }) => outcome === 'done');
  return history.of('complete', 'abandon', 'renew').flatMap((call) => {
    const { delivery, outcome, actor, kind, start } = call;
    const received = history.calls.find(({ deliveries }) =>
      deliveries.some(({ lockToken }) => lockToken === delivery?.lockToken),
    );
    const change = changes.find((one) => one.end <= start && (received?.end ?? 0) <= one.start);
    if (outcome !== 'done' || change === undefined) return [];
    return [`${actor}: ${kind} succeeded though ${change.kind} had been answered.`];
  });
}

/** After an answered purge no receive returns messages. */
function receivedAfterPurge({ history }: Ended): readonly string[] {
  const isPurged = history.of('purge').some(({ outcome }) => outcome === 'done');
  return history
    .of('receive')
    .filter(({ deliveries }) => isPurged && deliveries.length > 0)
    .map(({ actor }) => `${actor} received a purged message.`);
}

/** Just less than the two seconds for which a process caches entities, ms. */
const ALMOST_STALE_MS = 1900;

/** Changes of entities, concurrent with operations on them. */
export const entityWorlds = [
  world({
    name: 'purge × send × claim',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => await actor.purge('q'),
      B: async (actor) => {
        await actor.send('q', 'b');
        await actor.after('A');
        await actor.send('q', 'c');
      },
      C: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.after('A');
        await actor.complete(message);
        await actor.receive('q', 2);
      },
    },
    check: (ended) => [...foundAfterRemoval(ended), ...settledAfterChange(ended)],
  }),
  world({
    name: 'send through a process that was frozen while a queue was purged',
    entities: { q: queue() },
    setUp: async (actor) => void (await actor.send('q', 'a')),
    actors: {
      A: async (actor) => {
        await actor.frozenUntilAfter('B');
        await actor.send('q', 'b');
      },
      B: async (actor) => await actor.purge('q'),
    },
  }),
  world({
    name: 'purge × purge, then send and claim',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => await actor.purge('q'),
      B: async (actor) => await actor.purge('q'),
      C: async (actor) => {
        await actor.after('A');
        await actor.after('B');
        await actor.send('q', 'b');
        await actor.receive('q');
      },
    },
    check: foundAfterRemoval,
  }),
  world({
    name: 'delete and create × send × claim',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => {
        await actor.delete('q');
        await actor.create('q', queue());
      },
      B: async (actor) => void (await actor.send('q', 'b')),
      C: async (actor) => void (await actor.receive('q')),
    },
    check: foundAfterRemoval,
  }),
  world({
    name: 'delete × sweep × send',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', bytes: 2000 });
    },
    actors: {
      A: async (actor) => {
        await actor.delete('q');
        await actor.pass(11 * 60_000);
        await actor.sweep();
      },
      B: async (actor) => void (await actor.send('q', 'b')),
    },
    check: foundAfterRemoval,
  }),
  world({
    name: 'delete × update, then purge',
    entities: { q: queue() },
    setUp: async () => {},
    actors: {
      A: async (actor) => await actor.delete('q'),
      B: async (actor) => {
        await actor.update('q', queue({ lockMs: LOCK_MS / 2 }));
        await actor.purge('q');
      },
    },
    check: ({ history }) => {
      const [update] = history.of('update');
      const isPurged = history.of('purge').some(({ outcome }) => outcome === 'done');
      return isPurged && update?.code === 'MessagingEntityNotFound'
        ? ['B purged q, though its update had found that q is deleted.']
        : [];
    },
  }),
  world({
    name: 'update × claim × complete',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor) => await actor.update('q', queue({ lockMs: 10_000 })),
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
      C: async (actor, [message]) => {
        await actor.after('A');
        await actor.complete(message);
      },
    },
    check: settledAfterChange,
  }),
  world({
    name: 'update × update with the same entity tag',
    entities: { q: queue() },
    setUp: async ({ process }) => [entityTag(await process.management.get('q', 'queue'))],
    actors: {
      A: async (actor, tag) => await actor.update('q', queue({ lockMs: 10_000 }), tag),
      B: async (actor, tag) => await actor.update('q', queue({ lockMs: 20_000 }), tag),
    },
    check: ({ history }) => {
      const done = history.of('update').filter(({ outcome }) => outcome === 'done');
      return done.length === 1 ? [] : [`${done.length} updates of one version succeeded.`];
    },
  }),
  world({
    name: 'update × purge',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => await actor.update('q', queue({ lockMs: 10_000 })),
      B: async (actor) => await actor.purge('q'),
      C: async (actor) => {
        await actor.after('A');
        await actor.after('B');
        await actor.receive('q');
      },
    },
    check: (ended) => [...foundAfterRemoval(ended), ...receivedAfterPurge(ended)],
  }),
  world({
    name: 'update × renew, then claim',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor) => await actor.update('q', queue({ lockMs: 10_000 })),
      B: async (actor, [message]) => await actor.renew(message),
      C: async (actor) => {
        await actor.after('A');
        await actor.after('B');
        await actor.receive('q', 2);
      },
    },
    check: ({ history }) => {
      const got = history.of('receive').filter(({ actor }) => actor === 'C');
      const isAll = got.every(({ deliveries }) => deliveries.length === 2);
      return isAll ? [] : ['Messages locked before an update could not be received after it.'];
    },
  }),
  world({
    name: 'update × update',
    entities: { q: queue() },
    knows: 'nothing',
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor) => await actor.update('q', queue({ lockMs: 10_000 })),
      B: async (actor) => await actor.update('q', queue({ lockMs: 20_000 })),
      C: async (actor, [message]) => {
        await actor.pass(LOCK_MS);
        await actor.renew(message);
      },
    },
    check: settledAfterChange,
  }),
  world({
    name: 'an entity begins to forward × claim × send',
    entities: { r: queue(), q: queue() },
    knows: 'nothing',
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => await actor.update('q', queue({ forwardTo: 'r' })),
      B: async (actor) => void (await actor.receive('r')),
      C: async (actor) => void (await actor.send('q', 'b')),
    },
  }),
  world({
    name: 'delete and create of a topic × receive from a subscription that was found through an older read',
    entities: {
      t: { kind: 'topic' },
      't/subscriptions/one': { kind: 'subscription', lockMs: LOCK_MS },
      't/subscriptions/two': { kind: 'subscription', lockMs: LOCK_MS },
    },
    knows: 'nothing',
    setUp: (actor) => actor.send('t', 'a'),
    actors: {
      A: async (actor) => {
        await actor.delete('t');
        await actor.create('t', { kind: 'topic' });
        await actor.create('t/subscriptions/one', { kind: 'subscription', lockMs: LOCK_MS });
      },
      B: async (actor) => {
        await actor.receive('t/subscriptions/two');
        await actor.pass(ALMOST_STALE_MS);
        const [message] = await actor.receive('t/subscriptions/one');
        await actor.abandon(message);
        await actor.pass(ALMOST_STALE_MS);
        await actor.receive('t/subscriptions/one');
      },
    },
    check: ({ history }) => {
      const deletion = history.of('delete').find(({ outcome }) => outcome === 'done');
      return history
        .of('receive')
        .filter(
          ({ start, deliveries }) => deliveries.length > 0 && start > (deletion?.end ?? start),
        )
        .map(() => 'B received a deleted message.');
    },
  }),
];
