import { world } from '../world.ts';
import { DEAD_LETTERS, LARGE_BYTES, LOCK_MS, queue, sessionQueue } from './settings.ts';

/** One write without an answer, which is executed at some time, while other actors work. */
export const lostAnswerWorlds = [
  world({
    name: 'send with a late write × claim and complete',
    entities: { q: queue() },
    setUp: async () => {},
    faults: ['late', 'crash'],
    actors: {
      A: async (actor) => void (await actor.send('q', 'a')),
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'claim with a late write × claim and complete',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a'),
    faults: ['late', 'crash'],
    actors: {
      A: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'abandon with a late write × claim and complete',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    faults: ['late'],
    actors: {
      A: async (actor, [message]) => await actor.abandon(message),
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'receive and delete with a late write × claim',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    faults: ['late'],
    actors: {
      A: async (actor) => void (await actor.receiveAndDelete('q')),
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'receive and delete in a session with a late write × expiry of the lock',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', sessionId: 's' });
      return await actor.accept('q', 's');
    },
    faults: ['lateUnheard'],
    actors: {
      A: async (actor, session) => void (await actor.receiveAndDelete('q', 1, session)),
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'receive and delete of a dead letter with a late write × receive and abandon',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      const [message] = await actor.receive('q');
      await actor.deadLetter(message);
    },
    faults: ['late', 'lateUnheard'],
    actors: {
      A: async (actor) => void (await actor.receiveAndDelete(DEAD_LETTERS)),
      B: async (actor) => {
        const [message] = await actor.receive(DEAD_LETTERS);
        await actor.abandon(message);
      },
    },
  }),
  world({
    name: 'dead-letter with a late write × expiry of the lock × claim',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    faults: ['late', 'crash'],
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor) => {
        await actor.pass(LOCK_MS);
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'transaction with a late write × complete',
    entities: { q: queue(), r: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    faults: ['late', 'crash'],
    actors: {
      A: async (actor, [message]) => await actor.transact(message, { r: ['b'] }, 'id'),
      B: async (actor, [message]) => await actor.complete(message),
    },
  }),
  world({
    name: 'accept with a late write × accept and receive',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.send('q', { tag: 'a', sessionId: 's' }),
    faults: ['late', 'crash'],
    actors: {
      A: async (actor) => {
        const session = await actor.accept('q', 's');
        await actor.release('q', session);
      },
      B: async (actor) => void (await actor.accept('q', 's')),
    },
  }),
  world({
    name: 'renew of a session with a late write, again later × accept',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.accept('q', 's'),
    faults: ['late'],
    actors: {
      A: async (actor, session) => {
        await actor.renewSession('q', session);
        await actor.pass(LOCK_MS / 2);
        await actor.renewSession('q', session);
        await actor.pass((LOCK_MS * 3) / 4);
      },
      B: async (actor) => {
        await actor.after('A');
        await actor.accept('q', 's');
      },
    },
  }),
  world({
    name: 'renew with a late write, again later × claim',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    faults: ['late'],
    actors: {
      A: async (actor, [message]) => {
        await actor.renew(message);
        await actor.pass(LOCK_MS / 2);
        await actor.renew(message);
        await actor.pass((LOCK_MS * 3) / 4);
        await actor.complete(message);
      },
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'purge with a late write × send',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a'),
    faults: ['late', 'crash'],
    actors: {
      A: async (actor) => await actor.purge('q'),
      B: async (actor) => void (await actor.send('q', 'b')),
    },
  }),
  world({
    name: 'duplicate with a late write × duplicate',
    entities: { q: queue({ requiresDuplicateDetection: true }) },
    setUp: async () => {},
    faults: ['late', 'crash'],
    actors: {
      A: async (actor) => void (await actor.send('q', 'a')),
      B: async (actor) => void (await actor.send('q', 'a')),
    },
  }),
  world({
    name: 'receive and delete without an answer, whose write arrives late',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    faults: ['lateUnheard'],
    actors: {
      A: async (actor) => void (await actor.receiveAndDelete('q')),
    },
    check: ({ history, found }) => {
      const [call] = history.of('receiveAndDelete');
      const taken = call?.deliveries.length ?? 0;
      return call?.outcome === 'done' && found.length + taken < 2
        ? ['A received one message, and both are deleted.']
        : [];
    },
  }),
  world({
    name: 'receive in a session whose connection breaks, then receive',
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', sessionId: 's' });
      await actor.send('q', { tag: 'b', sessionId: 's' });
      return await actor.accept('q', 's');
    },
    faults: ['cutOff'],
    actors: {
      A: async (actor, session) => {
        await actor.receive('q', 1, session);
        await actor.receive('q', 2, session);
      },
    },
    check: ({ history }) => {
      const tags = history.of('receive').flatMap(({ deliveries }) => deliveries[0]?.tag ?? []);
      return tags[0] === 'b' ? ['b was received before a.'] : [];
    },
  }),
  world({
    name: 'delete by number with a lost answer',
    entities: { q: queue() },
    setUp: async (actor) => {
      const [number = 0n] = await actor.send('q', 'a');
      return number;
    },
    faults: ['answerLost', 'late'],
    actors: {
      A: async (actor, number) => await actor.operate('q', { kind: 'delete' }, 'a', number),
    },
    check: ({ history, found }) =>
      history.of('operate').some(({ answer }) => answer === 'false') && found.length === 0
        ? ['The answer says that a was not deleted, but it was.']
        : [],
  }),
  world({
    name: 'send with a late write, the service is busy for its other tries',
    entities: { q: queue() },
    setUp: async () => {},
    faults: ['lateBusy'],
    actors: { A: async (actor) => void (await actor.send('q', 'a')) },
  }),
  world({
    name: 'complete with a late write, the service is busy for its other tries',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    faults: ['lateBusy'],
    actors: { A: async (actor, [message]) => await actor.complete(message) },
    check: ({ history, found }) =>
      found.length === 0 && history.of('complete').some(({ outcome }) => outcome === 'refused')
        ? ['The completion of a was refused, and a is completed.']
        : [],
  }),
  world({
    name: 'send without a key, with a late write, to partitions',
    entities: { q: queue({ enablePartitioning: true }) },
    setUp: async () => {},
    faults: ['late', 'lateUnheard', 'lateBusy'],
    actors: { A: async (actor) => void (await actor.send('q', 'a')) },
  }),
  world({
    name: 'send of a large body, the process crashes',
    entities: { q: queue() },
    setUp: async () => {},
    faults: ['crash', 'crashBefore'],
    actors: {
      A: async (actor) => void (await actor.send('q', { tag: 'a', bytes: LARGE_BYTES })),
      B: async (actor) => {
        await actor.after('A');
        await actor.receive('q');
      },
    },
  }),
];
