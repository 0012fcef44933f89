import { world } from '../world.ts';
import { LOCK_MS, queue, sessionQueue } from './settings.ts';

/** Settlements and renewals, concurrent with receives, before and at the end of the lock. */
export const lockWorlds = [
  world({
    name: 'claim × renew at the end of the lock',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => {
        await actor.renew(message);
        await actor.complete(message);
      },
      B: async (actor) => void (await actor.receive('q')),
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'claim × complete at the end of the lock',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.complete(message),
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'claim and complete × claim and complete, a lock expires',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'renew × renew × complete of one lock',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.renew(message),
      B: async (actor, [message]) => await actor.renew(message),
      C: async (actor, [message]) => await actor.complete(message),
      T: async (actor) => await actor.pass(1),
    },
  }),
  world({
    name: 'claim × abandon, two messages in one block',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => {
        await actor.abandon(message);
        await actor.receive('q');
      },
      B: async (actor) => void (await actor.receive('q', 2)),
    },
  }),
  world({
    name: 'claim × abandon in one process',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    sharesProcess: true,
    actors: {
      A: async (actor, [message]) => await actor.abandon(message),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => {
        await actor.after('A');
        await actor.receive('q');
      },
    },
  }),
  world({
    name: 'complete × complete × abandon of one lock',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q', 2);
    },
    actors: {
      A: async (actor, [message]) => await actor.complete(message),
      B: async (actor, [message]) => await actor.complete(message),
      C: async (actor, [message]) => await actor.abandon(message),
    },
  }),
  world({
    name: 'complete × complete of the two messages of a block × claim',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b', 'c');
      return await actor.receive('q', 2);
    },
    actors: {
      A: async (actor, [message]) => await actor.complete(message),
      B: async (actor, [, message]) => await actor.complete(message),
      C: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'the lock of the last delivery expires × complete × claim',
    entities: { q: queue({ maxDeliveryCount: 1 }) },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.complete(message),
      B: async (actor) => void (await actor.receive('q')),
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'expiry × claim × abandon',
    entities: { q: queue({ deadLetteringOnMessageExpiration: true }) },
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', timeToLiveMs: 10_000 });
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.abandon(message),
      B: async (actor) => void (await actor.receive('q')),
      T: async (actor) => await actor.pass(10_000),
    },
  }),
  world({
    name: 'renewal of an expired session lock after another client accepted the session',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', sessionId: 's' });
      const session = await actor.accept('q', 's');
      await actor.pass(LOCK_MS);
      return session;
    },
    actors: {
      A: async (actor, session) => {
        await actor.after('B');
        await actor.renewSession('q', session);
        await actor.setState('q', session, 'late');
      },
      B: async (actor) => void (await actor.accept('q', 's')),
    },
    check: ({ history }) =>
      history
        .of('renewSession', 'setState')
        .filter(({ outcome }) => outcome === 'done')
        .map(({ kind }) => `A's ${kind} succeeded, though B holds the session.`),
  }),
];
