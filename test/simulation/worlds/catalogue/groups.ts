import { world } from '../world.ts';
import { LOCK_MS, queue } from './settings.ts';

/** Calls of one process that share a write, as they arrive while another is under way, beside another process. */
export const groupWorlds = [
  world({
    name: 'group of two claims × claim, two messages in one block',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b', 'c'),
    runsMax: 150,
    sharesProcess: ['A', 'B', 'C'],
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => void (await actor.receive('q')),
      D: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'group of two claims, one for two messages, × claim, three blocks',
    runsMax: 150,
    entities: { q: queue() },
    setUp: async (actor) => {
      for (const tag of ['a', 'b', 'c']) await actor.send('q', tag);
    },
    sharesProcess: ['A', 'B', 'C'],
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q', 2)),
      C: async (actor) => void (await actor.receive('q')),
      D: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'group of two receives and deletes × claim',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    runsMax: 150,
    sharesProcess: ['A', 'B', 'C'],
    actors: {
      A: async (actor) => void (await actor.receiveAndDelete('q')),
      B: async (actor) => void (await actor.receiveAndDelete('q')),
      C: async (actor) => void (await actor.receiveAndDelete('q')),
      D: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'group of two claims with a late write × claim and complete',
    runsMax: 300,
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b', 'c'),
    sharesProcess: ['A', 'B', 'C'],
    faults: ['late', 'crash'],
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => void (await actor.receive('q')),
      D: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'group of two sends with a late write × claim and complete',
    entities: { q: queue() },
    setUp: async () => {},
    runsMax: 300,
    sharesProcess: ['A', 'B', 'C'],
    faults: ['late', 'answerLost', 'crash'],
    actors: {
      A: async (actor) => void (await actor.send('q', 'a')),
      B: async (actor) => void (await actor.send('q', 'b')),
      C: async (actor) => void (await actor.send('q', 'c')),
      D: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'group of two sends of one duplicate × duplicate',
    entities: { q: queue({ requiresDuplicateDetection: true }) },
    setUp: async () => {},
    runsMax: 150,
    sharesProcess: ['A', 'B', 'C'],
    actors: {
      A: async (actor) => void (await actor.send('q', 'c')),
      B: async (actor) => void (await actor.send('q', 'a', 'b')),
      C: async (actor) => void (await actor.send('q', 'a')),
      D: async (actor) => void (await actor.send('q', 'a')),
    },
  }),
  world({
    name: 'group of completes, one of them under a lock that ran out, × claim',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b', 'c');
      const [old] = await actor.receive('q');
      await actor.pass(LOCK_MS + 1);
      return [old, ...(await actor.receive('q', 3))];
    },
    runsMax: 150,
    sharesProcess: ['A', 'B', 'C'],
    actors: {
      A: async (actor, [, , , last]) => await actor.complete(last),
      B: async (actor, [old]) => await actor.complete(old),
      C: async (actor, [, live]) => await actor.complete(live),
      D: async (actor) => void (await actor.receive('q')),
    },
  }),
];
