import { world } from '../world.ts';
import { queue } from './settings.ts';

/** The queries of a receive from a queue whose first block has enough messages for all receivers. */
const QUERIES_MAX = 1;

/** Concurrent receives, also with operations on locked messages. */
export const claimWorlds = [
  world({
    name: 'claim × claim, one message',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a'),
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'claim × claim, two messages in one block',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
    },
    check: ({ requests }) =>
      ['A', 'B']
        .filter((actor) => {
          const queries = requests.filter(
            ({ process, name }) => process === actor && name === 'QueryCommand',
          );
          return queries.length > QUERIES_MAX;
        })
        .map((actor) => `${actor} read the queue again, though its block had a message for each.`),
  }),
  world({
    name: 'claim × claim, two blocks of one message',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      await actor.send('q', 'b');
    },
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
    },
    check: ({ history }) =>
      history
        .of('receive')
        .filter(({ deliveries }) => deliveries.length === 0)
        .map(({ actor }) => `${actor} received nothing, though there is a message for each.`),
  }),
  world({
    name: 'claim × claim, three messages in two blocks',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      await actor.send('q', 'c');
    },
    actors: {
      A: async (actor) => void (await actor.receive('q', 2)),
      B: async (actor) => void (await actor.receive('q', 2)),
    },
  }),
  world({
    name: 'claim × claim × claim, two messages in one block',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'claim × claim in one process, two messages in one block',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    sharesProcess: true,
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'receive and delete × claim, two messages in one block',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a', 'b'),
    actors: {
      A: async (actor) => void (await actor.receiveAndDelete('q', 2)),
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'send × claim, cold processes',
    entities: { q: queue() },
    setUp: async () => {},
    knows: 'nothing',
    actors: {
      A: async (actor) => void (await actor.send('q', 'a')),
      B: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.complete(message);
      },
    },
  }),
  world({
    name: 'send × claim in one process',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a'),
    sharesProcess: true,
    actors: {
      A: async (actor) => void (await actor.send('q', 'b')),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => {
        await actor.after('A');
        await actor.receive('q', 2);
      },
    },
  }),
];
