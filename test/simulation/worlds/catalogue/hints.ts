import { text } from '../../../../shared/domain/messages/property-value.ts';
import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LARGE_BYTES, LOCK_MS, queue, sessionQueue } from './settings.ts';

const inS = (tag: string) => ({ tag, sessionId: 's' });
/** More messages than the first page of a read, or than one partition gets. */
const ALL = ['a', 'b', 'c', 'd', 'e', 'f'];

/** As many messages, each in its own block, as a receive reads at a time at the start of a queue. */
const IN_FRONT = Array.from({ length: 8 }, (_, i) => `${i}`);

/** What a process remembers about a queue, when messages become available again or keep their order. */
export const hintWorlds = [
  world({
    name: 'receive, abandon, receive in one process',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      await actor.send('q', 'b');
    },
    sharesProcess: true,
    actors: {
      A: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.abandon(message);
        await actor.receive('q');
      },
    },
    check: ({ history }) => {
      const [first, again] = history.of('receive').map(({ deliveries }) => deliveries[0]?.tag);
      return first === again ? [] : [`${again} was received, not ${first}.`];
    },
  }),
  world({
    name: 'receive and abandon × receive in one process, then receive',
    entities: { q: queue() },
    setUp: async (actor) => {
      for (const tag of ['a', 'b', 'c']) await actor.send('q', tag);
    },
    sharesProcess: true,
    actors: {
      A: async (actor) => {
        const [message] = await actor.receive('q');
        await actor.abandon(message);
        await actor.after('B');
        await actor.receive('q');
      },
      B: async (actor) => void (await actor.receive('q')),
    },
    check: ({ history }) => {
      const tagOf = (name: string) =>
        history
          .of('receive')
          .filter(({ actor }) => actor === name)
          .at(-1)?.deliveries[0]?.tag;
      const first = tagOf('B') === 'a' ? 'b' : 'a';
      return tagOf('A') === first ? [] : [`A received ${tagOf('A')}, not ${first}.`];
    },
  }),
  world({
    name: 'receives of single messages in one process, from a partitioned queue',
    runsMax: 40,
    entities: { q: queue({ enablePartitioning: true }) },
    setUp: async (actor) => {
      for (const tag of ALL) await actor.send('q', { tag, partitionKey: tag });
    },
    sharesProcess: true,
    actors: {
      A: async (actor) => {
        for (const _ of ALL) await actor.receive('q');
      },
    },
    check: ({ history }) =>
      history
        .of('receive')
        .filter(({ deliveries }) => deliveries.length === 0)
        .map(() => 'A received nothing, though a message was free in some partition.'),
  }),
  world({
    name: 'receive of messages with large bodies, batch reads leave items unprocessed',
    entities: { q: queue() },
    splitsBatches: true,
    setUp: async (actor) => {
      for (const tag of ['a', 'b']) await actor.send('q', { tag, bytes: LARGE_BYTES });
    },
    actors: {
      A: async (actor) => void (await actor.receive('q', 2)),
    },
    check: ({ history }) => {
      const [call] = history.of('receive');
      return call?.deliveries.length === 2 ? [] : [`A received ${call?.answer}, not a and b.`];
    },
  }),
  world({
    name: 'send × receive in one process, then receive',
    entities: { q: queue() },
    setUp: async () => {},
    sharesProcess: true,
    actors: {
      A: async (actor) => {
        await actor.send('q', 'a');
        await actor.after('B');
        await actor.receive('q');
      },
      B: async (actor) => void (await actor.receive('q')),
    },
    check: nothingMissed,
  }),
  world({
    name: 'send behind a scheduled message × send and receive in one process, then receive',
    runsMax: 150,
    entities: { q: queue() },
    setUp: async () => {},
    sharesProcess: true,
    actors: {
      A: async (actor) => {
        await actor.send('q', { tag: 'later', delayMs: 2 * LOCK_MS }, 'a');
        await actor.after('B');
        await actor.receive('q');
      },
      B: async (actor) => {
        await actor.send('q', 'b');
        await actor.receive('q');
      },
    },
    check: ({ history }) => {
      const tags = history
        .of('receive')
        .flatMap(({ deliveries }) => deliveries.map(({ tag }) => tag));
      return tags.length === 2 ? [] : [`Of a and b only ${tags} was received.`];
    },
  }),
  world({
    name: 'receive just before a lock ends and again just after it, in one process',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', 'a'),
    sharesProcess: true,
    actors: {
      A: async (actor) => {
        await actor.receive('q');
        await actor.pass(LOCK_MS - 500);
        await actor.receive('q');
        await actor.pass(600);
        await actor.receive('q');
      },
    },
    check: ({ history }) =>
      history.of('receive').at(-1)?.deliveries.length === 0
        ? ['A received nothing, though the lock had ended.']
        : [],
  }),
  world({
    name: 'empty receive, abandon in another process, receive again two seconds later',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor) => {
        await actor.receive('q');
        await actor.after('B');
        await actor.pass(2000);
        await actor.receive('q');
      },
      B: async (actor, [message]) => await actor.abandon(message),
    },
    check: nothingMissed,
  }),
  world({
    name: 'receive behind as many locked blocks as one read returns, abandon in another process, receive two seconds later',
    entities: { q: queue() },
    setUp: async (actor) => {
      for (const tag of IN_FRONT) await actor.send('q', tag);
      const [first] = await actor.receive('q', IN_FRONT.length);
      for (const tag of ['x', 'y', 'z']) await actor.send('q', tag);
      return first;
    },
    actors: {
      A: async (actor) => {
        await actor.receive('q');
        await actor.pass(2000);
        await actor.receive('q');
        await actor.after('B');
        await actor.pass(2000);
        await actor.receive('q');
      },
      B: async (actor, first) => await actor.abandon(first),
    },
    check: ({ history }) => {
      const freed = history.of('abandon')[0]?.endAt ?? 0;
      const last = history.of('receive').at(-1);
      const isMissed = last !== undefined && last.startAt >= freed + 2000;
      const tags = history.of('receive').flatMap(({ deliveries }) => deliveries.slice(0, 1));
      return isMissed && !tags.slice(1).some(({ tag }) => tag === IN_FRONT[0])
        ? [`A skipped ${IN_FRONT[0]}, which had been available for two seconds.`]
        : [];
    },
  }),
  world({
    name: 'a message abandoned with changed properties keeps its place in its session',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.send('q', inS('a'), inS('b'), inS('c')),
    actors: {
      A: async (actor) => {
        const session = await actor.accept('q', 's');
        const [first, second] = await actor.receive('q', 2, session);
        await actor.abandon(second, { properties: { note: text('changed') } });
        await actor.abandon(first);
        await actor.receive('q', 3, session);
      },
    },
    check: ({ history }) => {
      const tags = history.of('receive')[1]?.deliveries.map(({ tag }) => tag);
      return tags?.join(' ') === 'a b c' ? [] : [`${tags} were received, not a, b and c.`];
    },
  }),
  world({
    name: 'messages abandoned with changed properties are not skipped when few are received at a time',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.send('q', ...ALL.map(inS)),
    actors: {
      A: async (actor) => {
        const session = await actor.accept('q', 's');
        const [last, ...others] = (await actor.receive('q', ALL.length, session)).toReversed();
        for (const one of others)
          await actor.abandon(one, { properties: { note: text('changed') } });
        await actor.abandon(last);
        for (let i = 0; i < 2; i++) await actor.receive('q', 2, session);
      },
    },
    check: ({ history }) => {
      const [, ...again] = history.of('receive');
      const tags = again.flatMap(({ deliveries }) => deliveries.map(({ tag }) => tag));
      return tags.join(' ') === 'a b c d' ? [] : [`${tags} were received, not a, b, c and d.`];
    },
  }),
  world({
    name: 'claim × claim × claim, three blocks of one message',
    entities: { q: queue() },
    setUp: async (actor) => {
      for (const tag of ['a', 'b', 'c']) await actor.send('q', tag);
    },
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => void (await actor.receive('q')),
    },
    check: ({ history }) =>
      history
        .of('receive')
        .filter(({ deliveries }) => deliveries.length === 0)
        .map(
          ({ actor, outcome }) =>
            `${actor} received nothing (${outcome}), though there is a message for each.`,
        ),
  }),
];

/** The last receive of A returns the message if it is not locked. */
function nothingMissed({ history }: Ended): readonly string[] {
  const receives = history.of('receive');
  const taken = receives.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
  const isHeld = taken > history.of('abandon').length;
  const last = receives.filter(({ actor }) => actor === 'A').at(-1);
  const isMissed = last?.outcome === 'done' && last.deliveries.length === 0 && !isHeld;
  return isMissed ? ['A received nothing, though a was available.'] : [];
}
