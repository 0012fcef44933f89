import { entityTag } from '../../../../shared/broker/management/if-match.ts';
import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LOCK_MS, queue } from './settings.ts';

/** What was sent before a purge began, or the entity was deleted, is gone. */
function isGone({ history, found }: Ended): readonly string[] {
  const wipes = history.of('purge', 'delete').filter(({ heard }) => heard === 'done');
  return found.flatMap(({ tag, path }) => {
    const sends = history.of('send').filter(({ tags }) => tags.includes(tag));
    const wipe = wipes.find(({ start }) => sends.every(({ end }) => end < start || end === -1));
    return wipe === undefined ? [] : [`${tag} was still in ${path} after ${wipe.kind}.`];
  });
}

/** Locks from before an update are lost once it was answered. */
function areLost({ history }: Ended): readonly string[] {
  const changes = history.of('update', 'purge', 'delete').filter(({ heard }) => heard === 'done');
  return history.of('complete', 'abandon', 'renew').flatMap((call) => {
    const { delivery, heard, actor, kind, start } = call;
    const received = history.calls.find(({ deliveries }) =>
      deliveries.some(({ lockToken }) => lockToken === delivery?.lockToken),
    );
    const change = changes.find((one) => one.end <= start && (received?.end ?? 0) <= one.start);
    if (heard !== 'done' || change === undefined) return [];
    return [`${actor}: ${kind} succeeded though ${change.kind} had been answered.`];
  });
}

/** After a purge that was answered nobody receives what was sent before. */
function areBothSeen({ history }: Ended): readonly string[] {
  const isPurged = history.of('purge').some(({ heard }) => heard === 'done');
  return history
    .of('receive')
    .filter(({ deliveries }) => isPurged && deliveries.length > 0)
    .map(({ actor }) => `${actor} received what had been purged.`);
}

/** What a process knows of entities is used for two seconds. */
const ALMOST_OLD_MS = 1900;

/** Changes of entities against those who use them. */
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
    check: (ended) => [...isGone(ended), ...areLost(ended)],
  }),
  world({
    name: 'send through a process that stood still while a queue was purged',
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
    check: isGone,
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
    check: isGone,
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
    check: isGone,
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
    check: areLost,
  }),
  world({
    name: 'update × update of what both have read',
    entities: { q: queue() },
    setUp: async ({ process }) => [entityTag(await process.management.get('q', 'queue'))],
    actors: {
      A: async (actor, tag) => await actor.update('q', queue({ lockMs: 10_000 }), tag),
      B: async (actor, tag) => await actor.update('q', queue({ lockMs: 20_000 }), tag),
    },
    check: ({ history }) => {
      const done = history.of('update').filter(({ heard }) => heard === 'done');
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
    check: (ended) => [...isGone(ended), ...areBothSeen(ended)],
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
      return isAll ? [] : ['What was locked before an update could not be had after it.'];
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
    check: areLost,
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
        await actor.pass(ALMOST_OLD_MS);
        const [message] = await actor.receive('t/subscriptions/one');
        await actor.abandon(message);
        await actor.pass(ALMOST_OLD_MS);
        await actor.receive('t/subscriptions/one');
      },
    },
    check: ({ history }) => {
      const deletion = history.of('delete').find(({ heard }) => heard === 'done');
      return history
        .of('receive')
        .filter(
          ({ start, deliveries }) => deliveries.length > 0 && start > (deletion?.end ?? start),
        )
        .map(() => 'B received what had been deleted.');
    },
  }),
];
