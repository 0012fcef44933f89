import { world } from '../world.ts';
import { queue } from './settings.ts';

const detecting = () => queue({ requiresDuplicateDetection: true });
const DUE_MS = 10_000;
/** Each needs a block and a session entry, so together they exceed the 100 items of one transaction. */
const MANY_SESSIONS = Array.from({ length: 51 }, (_, i) => ({ tag: `${i}`, sessionId: `${i}` }));

/** Duplicate detection, scheduling and topics. */
export const sendWorlds = [
  world({
    name: 'duplicate × duplicate',
    entities: { q: detecting() },
    setUp: async () => {},
    actors: {
      A: async (actor) => void (await actor.send('q', 'a')),
      B: async (actor) => void (await actor.send('q', 'a')),
    },
  }),
  world({
    name: 'batch × batch with a common duplicate',
    entities: { q: detecting() },
    setUp: async () => {},
    actors: {
      A: async (actor) => void (await actor.send('q', 'a', 'b')),
      B: async (actor) => void (await actor.send('q', 'b', 'c')),
    },
  }),
  world({
    name: 'batch × single duplicate',
    entities: { q: detecting() },
    setUp: async () => {},
    actors: {
      A: async (actor) => void (await actor.send('q', 'a', 'b')),
      B: async (actor) => void (await actor.send('q', 'b')),
    },
  }),
  world({
    name: 'batch × single duplicate, a slow batch',
    runsMax: 150,
    entities: { q: detecting() },
    endsPauses: true,
    setUp: async () => {},
    actors: {
      A: async (actor) => void (await actor.send('q', 'a', 'b')),
      B: async (actor) => void (await actor.send('q', 'b')),
    },
  }),
  world({
    name: 'schedule × activation of a due message',
    runsMax: 150,
    entities: { q: queue() },
    knows: 'entities',
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', delayMs: DUE_MS });
      await actor.pass(DUE_MS);
    },
    actors: {
      A: async (actor) => void (await actor.send('q', { tag: 'b', delayMs: DUE_MS })),
      B: async (actor) => void (await actor.receive('q')),
    },
  }),
  world({
    name: 'activation × activation',
    entities: { q: queue() },
    knows: 'entities',
    setUp: async (actor) => {
      await actor.send('q', { tag: 'a', delayMs: DUE_MS });
      await actor.send('q', { tag: 'b', delayMs: 2 * DUE_MS });
      await actor.pass(DUE_MS);
    },
    actors: {
      A: async (actor) => void (await actor.receive('q')),
      B: async (actor) => void (await actor.receive('q')),
    },
    isLarge: true,
  }),
  world({
    name: 'cancel × activation',
    entities: { q: queue() },
    knows: 'entities',
    setUp: async (actor) => {
      const numbers = await actor.send(
        'q',
        { tag: 'a', delayMs: DUE_MS },
        { tag: 'b', delayMs: DUE_MS },
      );
      await actor.pass(DUE_MS);
      return numbers;
    },
    actors: {
      A: async (actor, numbers) => await actor.cancel('q', ['a'], numbers),
      B: async (actor) => void (await actor.receive('q', 2)),
    },
  }),
  world({
    name: 'cancel of two messages in one block × cancel of one of them',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', ...['a', 'b', 'c'].map((tag) => ({ tag, delayMs: DUE_MS }))),
    actors: {
      A: async (actor, numbers) => await actor.cancel('q', ['a', 'b'], numbers),
      B: async (actor, [, second = 0n]) => await actor.cancel('q', ['b'], [second]),
    },
  }),
  world({
    name: 'cancel × activation × activation at the due time',
    entities: { q: queue() },
    setUp: (actor) => actor.send('q', { tag: 'a', delayMs: DUE_MS }),
    actors: {
      A: async (actor, numbers) => await actor.cancel('q', ['a'], numbers),
      B: async (actor) => {
        await actor.pass(DUE_MS);
        await actor.receive('q');
      },
      C: async (actor) => void (await actor.receive('q')),
    },
    isLarge: true,
  }),
  world({
    name: 'publish × claim of a copy',
    entities: {
      t: { kind: 'topic' },
      't/subscriptions/one': { kind: 'subscription' },
      't/subscriptions/two': { kind: 'subscription' },
    },
    setUp: async () => {},
    actors: {
      A: async (actor) => void (await actor.send('t', 'a')),
      B: async (actor) => void (await actor.receive('t/subscriptions/one')),
    },
    check: () => [],
  }),
  world({
    name: 'publish to more sessions than one transaction holds, the sender crashes, then receive and complete',
    entities: {
      t: { kind: 'topic' },
      't/subscriptions/s': { kind: 'subscription', requiresSession: true },
    },
    setUp: async () => {},
    faults: ['crash'],
    actors: {
      A: async (actor) => void (await actor.send('t', ...MANY_SESSIONS)),
      B: async (actor) => {
        await actor.after('A');
        const session = await actor.accept('t/subscriptions/s', '0');
        const [first] = await actor.receive('t/subscriptions/s', 1, session);
        await actor.complete(first);
      },
    },
  }),
];
