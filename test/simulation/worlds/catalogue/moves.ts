import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { DEAD_LETTERS, LOCK_MS, queue } from './settings.ts';

const MINUTE = 60_000;

/** Operations that move messages, concurrent with receives. */
export const moveWorlds = [
  world({
    name: 'dead-letter × claim × claim of dead letters',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor) => void (await actor.receive('q', 2)),
      C: async (actor) => void (await actor.receive(DEAD_LETTERS)),
    },
  }),
  world({
    name: 'dead-letter × complete × expiry of the lock',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor, [message]) => await actor.complete(message),
      T: async (actor) => await actor.pass(LOCK_MS),
    },
  }),
  world({
    name: 'dead-letter × dead-letter of one block, with split transactions',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q', 2);
    },
    splitsTransactions: true,
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor, [, message]) => await actor.deadLetter(message),
    },
  }),
  world({
    name: 'dead-letter × complete in one block, with split transactions',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q', 2);
    },
    splitsTransactions: true,
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor, [, message]) => await actor.complete(message),
    },
    check: ({ history }) =>
      history
        .of('deadLetter', 'complete')
        .filter(({ outcome }) => outcome !== 'done')
        .map(({ actor, kind }) => `${actor}: ${kind} was not done, without a conflict.`),
  }),
  world({
    name: 'defer × receive deferred × claim',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a', 'b');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.defer(message),
      B: async (actor, [message]) => {
        const [deferred] = await actor.receiveDeferred('q', message?.sequenceNumber ?? 0n);
        await actor.complete(deferred);
      },
      C: async (actor) => void (await actor.receive('q', 2)),
    },
  }),
  world({
    name: 'receive deferred × receive deferred × delete by an operator',
    entities: { q: queue() },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      const [message] = await actor.receive('q');
      await actor.defer(message);
      return message?.sequenceNumber ?? 0n;
    },
    actors: {
      A: async (actor, number) => void (await actor.receiveDeferred('q', number)),
      B: async (actor, number) => void (await actor.receiveDeferred('q', number)),
      C: async (actor, number) => await actor.operate('q', { kind: 'delete' }, 'a', number),
    },
    check: ({ history }) => {
      const deletions = history.of('operate').filter(({ answer }) => answer === 'true');
      const isHeld = history
        .of('receiveDeferred')
        .some(({ outcome, start }) => outcome === 'done' && start >= 0);
      return deletions.length > 0 && isHeld ? ['A locked message was deleted.'] : [];
    },
  }),
  world({
    name: 'sweep × claim × claim of dead letters, after the lock expired',
    entities: { q: queue({ maxDeliveryCount: 1 }) },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      const [message] = await actor.receive('q');
      await actor.pass(LOCK_MS + 60_000);
      return message;
    },
    actors: {
      A: async (actor) => await actor.sweep(),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => void (await actor.receive(DEAD_LETTERS)),
    },
  }),
  world({
    name: 'dead letters are forwarded × claim × send',
    entities: { r: queue(), q: queue({ forwardDeadLetteredMessagesTo: 'r' }) },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor) => void (await actor.receive('q')),
      C: async (actor) => void (await actor.receive('r')),
    },
  }),
  world({
    name: 'dead-letter with forwarding, the process crashes',
    entities: { d: queue(), q: queue({ forwardDeadLetteredMessagesTo: 'd' }) },
    setUp: async (actor) => {
      await actor.send('q', 'a');
      return await actor.receive('q');
    },
    faults: ['crash'],
    actors: {
      A: async (actor, [message]) => await actor.deadLetter(message),
      B: async (actor) => {
        await actor.after('A');
        // The sweep walks over all entities once an hour.
        for (let i = 0; i < 3; i++) {
          await actor.pass(61 * MINUTE);
          await actor.sweep();
        }
      },
    },
  }),
  world({
    name: 'a scheduled message in a queue that is deleted when idle',
    entities: { q: queue({ autoDeleteOnIdleMs: 5 * MINUTE }) },
    setUp: (actor) => actor.send('q', { tag: 'a', delayMs: 24 * 60 * MINUTE }),
    actors: {
      A: async (actor) => {
        for (let i = 0; i < 3; i++) {
          await actor.pass(7 * 60 * MINUTE);
          await actor.sweep();
        }
        await actor.pass(3 * 60 * MINUTE);
      },
    },
  }),
  world({
    name: 'schedule in a queue that forwards, the process crashes, then schedule for later',
    entities: { d: queue(), q: queue({ forwardTo: 'd' }) },
    setUp: async (actor) => {
      // This sweep does the day's walk over all entities.
      await actor.sweep();
    },
    faults: ['crash'],
    actors: {
      A: async (actor) => void (await actor.send('q', { tag: 'a', delayMs: MINUTE })),
      B: async (actor) => {
        await actor.after('A');
        await actor.send('q', { tag: 'b', delayMs: 2 * MINUTE });
        for (let i = 0; i < 2; i++) {
          await actor.pass(3 * MINUTE);
          await actor.sweep();
        }
        await actor.receive('d', 10);
      },
    },
    check: laterMessageMissing,
  }),
  world({
    name: 'schedule in a topic, a sweep crashes between two due times, then sweep again',
    knows: 'entities',
    entities: {
      d: queue(),
      t: { kind: 'topic' },
      't/subscriptions/s': { kind: 'subscription', forwardTo: 'd' },
    },
    setUp: async (actor) => {
      await actor.send('t', { tag: 'a', delayMs: MINUTE });
      await actor.send('t', { tag: 'b', delayMs: 20 * MINUTE });
      // This sweep does the day's walk over all entities.
      await actor.sweep();
      await actor.pass(2 * MINUTE);
    },
    faults: ['crash', 'crashBefore'],
    runsMax: 600,
    actors: {
      A: async (actor) => await actor.sweep(),
      B: async (actor) => {
        await actor.after('A');
        for (let i = 0; i < 3; i++) {
          await actor.pass(11 * MINUTE);
          await actor.sweep();
        }
        await actor.receive('d', 10);
      },
    },
    check: laterMessageMissing,
  }),
];

/** The receive must return the message that was scheduled second. */
function laterMessageMissing({ history }: Ended): readonly string[] {
  return history
    .of('receive')
    .filter(({ outcome }) => outcome === 'done')
    .filter(({ deliveries }) => !deliveries.some(({ tag }) => tag === 'b'))
    .map(() => 'b was not delivered in time.');
}
