import { world } from '../world.ts';
import { LOCK_MS, sessionQueue } from './settings.ts';

const inS = (tag: string) => ({ tag, sessionId: 's' });

const SHORTER_LOCK_MS = LOCK_MS - 5000;

/** Accepts, receives, renewals, releases and sends in sessions. */
export const sessionWorlds = [
  world({
    name: 'accept × accept of one session',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.send('q', inS('a')),
    actors: {
      A: async (actor) => void (await actor.accept('q', 's')),
      B: async (actor) => void (await actor.accept('q', 's')),
    },
  }),
  world({
    name: 'accept the next × accept the next, two sessions',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      await actor.send('q', { tag: 'b', sessionId: 'other' });
    },
    actors: {
      A: async (actor) => void (await actor.accept('q')),
      B: async (actor) => void (await actor.accept('q')),
    },
  }),
  world({
    name: 'accept the next × accept and receive, the last delivery',
    entities: { q: sessionQueue({ maxDeliveryCount: 1 }) },
    setUp: (actor) => actor.send('q', inS('a')),
    actors: {
      A: async (actor) => void (await actor.accept('q')),
      B: async (actor) => {
        const session = await actor.accept('q', 's');
        const [message] = session === undefined ? [] : await actor.receive('q', 1, session);
        await actor.complete(message);
      },
    },
    check: ({ history }) =>
      history
        .of('complete')
        .filter(({ outcome }) => outcome !== 'done')
        .map(({ code }) => `B got ${code}, though it held the session.`),
  }),
  world({
    name: 'release × send × accept the next',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.accept('q', 's'),
    actors: {
      A: async (actor, session) => await actor.release('q', session),
      B: async (actor) => void (await actor.send('q', inS('a'))),
      C: async (actor) => void (await actor.accept('q')),
    },
  }),
  world({
    name: 'release with messages × send',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      const session = await actor.accept('q', 's');
      const [message] = await actor.receive('q', 1, session);
      return { session, message };
    },
    actors: {
      A: async (actor, { session, message }) => {
        await actor.complete(message);
        await actor.release('q', session);
      },
      B: async (actor) => void (await actor.send('q', inS('b'))),
    },
  }),
  world({
    name: 'receive × renew × expiry of a session lock × accept',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      return await actor.accept('q', 's');
    },
    actors: {
      A: async (actor, session) => void (await actor.receive('q', 1, session)),
      B: async (actor, session) => await actor.renewSession('q', session),
      C: async (actor) => {
        const session = await actor.accept('q', 's');
        if (session !== undefined) await actor.receive('q', 1, session);
      },
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'renew × expiry of a session lock × accept',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      return await actor.accept('q', 's');
    },
    actors: {
      A: async (actor, session) => await actor.renewSession('q', session),
      B: async (actor) => void (await actor.accept('q', 's')),
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'complete in a session × release × accept and receive',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      const session = await actor.accept('q', 's');
      const [message] = await actor.receive('q', 1, session);
      return { session, message };
    },
    actors: {
      A: async (actor, { message }) => await actor.complete(message),
      B: async (actor, { session }) => await actor.release('q', session),
      C: async (actor) => {
        const session = await actor.accept('q', 's');
        if (session !== undefined) await actor.receive('q', 1, session);
      },
    },
    check: ({ history }) =>
      history
        .of('receive')
        .flatMap(({ deliveries }) => deliveries)
        .filter(({ failedDeliveries }) => failedDeliveries > 0)
        .map(({ tag }) => `A delivery of ${tag} that ended with a release counts as failed.`),
  }),
  world({
    name: 'receive × renew × receive in one session',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      return await actor.accept('q', 's');
    },
    actors: {
      A: async (actor, session) => {
        await actor.receive('q', 1, session);
        await actor.receive('q', 1, session);
      },
      B: async (actor, session) => {
        await actor.pass(1);
        await actor.renewSession('q', session);
      },
    },
  }),
  world({
    name: 'send × accept the next, the index lists an empty session',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      const session = await actor.accept('q', 's');
      const [message] = await actor.receive('q', 1, session);
      await actor.complete(message);
      await actor.release('q', session);
    },
    actors: {
      A: async (actor) => void (await actor.accept('q')),
      B: async (actor) => void (await actor.send('q', inS('b'))),
    },
  }),
  world({
    name: 'receive × release of one session, then accept the next',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      return await actor.accept('q', 's');
    },
    actors: {
      A: async (actor, session) => void (await actor.receive('q', 1, session)),
      B: async (actor, session) => await actor.release('q', session),
      C: async (actor) => {
        await actor.after('A');
        await actor.after('B');
        await actor.accept('q');
      },
    },
  }),
  world({
    name: 'accept the next × accept and receive, after an update ended a lock',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.accept('q', 's');
      await actor.pass(2000);
      await actor.send('q', inS('a'));
      await actor.update('q', sessionQueue({ lockMs: SHORTER_LOCK_MS }));
    },
    actors: {
      A: async (actor) => void (await actor.accept('q')),
      B: async (actor) => {
        const session = await actor.accept('q', 's');
        if (session !== undefined) await actor.receive('q', 1, session);
      },
    },
  }),
  world({
    name: 'accept the next × accept and send, after an update ended the lock of an empty session',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.accept('q', 's');
      await actor.update('q', sessionQueue({ lockMs: SHORTER_LOCK_MS }));
    },
    actors: {
      A: async (actor) => void (await actor.accept('q')),
      B: async (actor) => {
        await actor.accept('q', 's');
        await actor.send('q', inS('a'));
      },
    },
  }),
  world({
    name: 'receive × release of one session, then accept and receive',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', inS('a'));
      await actor.send('q', inS('b'));
      return await actor.accept('q', 's');
    },
    actors: {
      A: async (actor, session) => void (await actor.receive('q', 1, session)),
      B: async (actor, session) => await actor.release('q', session),
      C: async (actor) => {
        await actor.after('A');
        await actor.after('B');
        const session = await actor.accept('q', 's');
        if (session !== undefined) await actor.receive('q', 1, session);
      },
    },
    check: ({ history }) =>
      history
        .of('receive')
        .filter(({ actor, deliveries }) => actor === 'C' && deliveries[0]?.tag !== 'a')
        .map(({ deliveries }) => `C received ${deliveries[0]?.tag}, not a.`),
  }),
  world({
    name: 'set the state twice, a write of one arrives late',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.accept('q', 's'),
    faults: ['late'],
    actors: {
      A: async (actor, session) => {
        await actor.setState('q', session, 'one');
        await actor.setState('q', session, 'two');
        await actor.readState('q', session);
      },
    },
    check: ({ history }) => {
      const isSet = history.of('setState').every(({ outcome }) => outcome === 'done');
      const [read] = history.of('readState');
      return isSet && read?.outcome === 'done' && read.answer !== 'two'
        ? [`A read ${read.answer}, not two.`]
        : [];
    },
  }),
  world({
    name: 'accept the next in a process whose clock is ahead, then send through one whose clock is right',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      const session = await actor.accept('q', 's');
      await actor.setState('q', session, 'kept');
      await actor.pass(LOCK_MS - 500);
    },
    actors: {
      A: async (actor) => {
        actor.setClock(900);
        await actor.accept('q');
      },
      B: async (actor) => {
        await actor.after('A');
        await actor.send('q', inS('a'));
        await actor.pass(1000);
        await actor.accept('q');
      },
    },
    check: ({ history }) => {
      const last = history.of('accept').at(-1);
      return last?.outcome === 'done' && last.answer === 'none'
        ? ['B accepted no session, though a was available.']
        : [];
    },
  }),
];
