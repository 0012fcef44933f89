import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LOCK_MS, queue } from './settings.ts';

/** Keys of two partitions. */
const KEYS = ['a', 'b'] as const;

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
  world({
    name: 'two claims at once × claim, three blocks',
    entities: { q: queue() },
    setUp: async (actor) => {
      for (const tag of ['a', 'b', 'c']) await actor.send('q', tag);
    },
    sharesProcess: ['A'],
    actors: {
      A: async (actor) =>
        await actor.atOnce(
          () => actor.receive('q'),
          () => actor.receive('q'),
        ),
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'two claims at once, one of them aborted, × claim',
    entities: { q: queue() },
    setUp: async (actor) => void (await actor.send('q', 'a', 'b')),
    sharesProcess: ['A'],
    actors: {
      A: async (actor) =>
        await actor.atOnce(
          () => actor.receive('q'),
          () => actor.receiveAborted('peekLock', 'q'),
        ),
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'two receives and deletes at once, one of them aborted',
    entities: { q: queue() },
    setUp: async (actor) => void (await actor.send('q', 'a', 'b')),
    sharesProcess: ['A'],
    actors: {
      A: async (actor) =>
        await actor.atOnce(
          () => actor.receiveAndDelete('q'),
          () => actor.receiveAborted('receiveAndDelete', 'q'),
        ),
    },
    check: ({ history, requests }) => {
      const writtenAt = requests.find(({ name }) => name !== 'QueryCommand')?.at ?? 0;
      return history
        .of('receiveAndDelete')
        .filter(({ abortedAt = writtenAt }) => abortedAt < writtenAt)
        .filter(({ deliveries }) => deliveries.length > 0)
        .map(({ answer }) => `${answer} was removed for a receive that had been aborted.`);
    },
  }),
  world({
    name: 'two sends with different keys at once, then both keys again',
    entities: { q: queue({ enablePartitioning: true }) },
    setUp: async () => {},
    sharesProcess: ['A'],
    actors: {
      A: async (actor) => {
        // If both shared a write, the first key would decide, and each key would be in both partitions.
        for (const keys of [KEYS, KEYS.toReversed()]) {
          const sends = keys.map((key) => () => {
            const tag = `${key} ${keys[0]} first`;
            return actor.send('q', { tag, partitionKey: key });
          });
          await actor.atOnce(...sends);
        }
      },
    },
    check: ({ found }) =>
      KEYS.filter((key) => {
        const those = found.filter(({ tag }) => tag.startsWith(`${key} `));
        return new Set(those.map(({ sequenceNumber }) => sequenceNumber >> 48n)).size > 1;
      }).map((key) => `The messages with the key ${key} are in several partitions.`),
  }),
  world({
    name: 'two sends over one link, the first write slow',
    entities: { q: queue() },
    setUp: async () => {},
    endsPauses: true,
    sharesProcess: ['A'],
    actors: {
      A: async (actor) =>
        void (await Promise.all([actor.sendInOrder('q', 'a'), actor.sendInOrder('q', 'b')])),
    },
    check: outOfOrder,
  }),
  world({
    name: 'three sends over one link, the second of them alone',
    entities: { q: queue() },
    setUp: async () => {},
    sharesProcess: ['A'],
    actors: {
      A: async (actor) =>
        await actor.atOnce(
          () => actor.sendInOrder('q', 'a'),
          // It is partly scheduled, and so shares no write.
          () => actor.sendInOrder('q', 'b', { tag: 'later', delayMs: LOCK_MS }),
          () => actor.sendInOrder('q', 'c'),
        ),
    },
    check: outOfOrder,
  }),
];

/** The messages of all sends, of which each has one that is not scheduled, have rising numbers. */
function outOfOrder({ history, found }: Ended): readonly string[] {
  const tags = history.of('send', 'schedule').flatMap(({ tags: [first = ''] }) => [first]);
  const numbers = tags.flatMap((tag) =>
    found.filter((one) => one.tag === tag).map(({ sequenceNumber }) => sequenceNumber),
  );
  const isSorted = numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? number));
  return isSorted ? [] : [`${tags.join(', ')} were sent in this order and stored in another one.`];
}
