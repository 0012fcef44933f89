import type { Actor } from '../actor.ts';
import type { Ended } from '../ending.ts';
import { world } from '../world.ts';
import { LOCK_MS, sessionQueue } from './settings.ts';

const inS = (tag: string) => ({ tag, sessionId: 's' });
/** More than the number of ids of released locks that a session keeps. */
const HOLDERS = 40;

/** Released sessions: a delivery that ended with the release is not a failed delivery. */
export const releasedSessionWorlds = [
  world({
    name: 'a session is released more often than it keeps lock ids, its first holder left many messages unsettled',
    entities: { q: sessionQueue({ maxDeliveryCount: 1 }) },
    setUp: async (actor) => {
      const tags = Array.from({ length: HOLDERS + 2 }, (_, i) => `${i}`);
      await actor.send('q', ...tags.map(inS));
      const session = await actor.accept('q', 's');
      await actor.receive('q', tags.length, session);
      await actor.release('q', session);
    },
    actors: {
      A: async (actor) => {
        for (let i = 0; i < HOLDERS; i++) {
          const session = await actor.accept('q', 's');
          const [message] = await actor.receive('q', 1, session);
          await actor.complete(message);
          await actor.release('q', session);
        }
        await actor.release('q', await acceptAndReceive(actor));
      },
    },
    check: noneFailed,
  }),
  world({
    name: 'receive × release × send in an empty session, then accept and receive',
    entities: { q: sessionQueue() },
    setUp: (actor) => actor.accept('q', 's'),
    actors: {
      A: async (actor, session) => void (await actor.receive('q', 1, session)),
      B: async (actor, session) => await actor.release('q', session),
      C: async (actor) => void (await actor.send('q', inS('a'))),
      D: async (actor) => {
        for (const name of ['A', 'B', 'C']) await actor.after(name);
        await actor.pass(LOCK_MS);
        await acceptAndReceive(actor);
      },
    },
    check: (ended) => {
      const [received] = ended.history.of('receive');
      const [release] = ended.history.of('release');
      // A receive that ends after the release counts as failed.
      const isBefore =
        received !== undefined && release !== undefined && received.end < release.end;
      return isBefore ? noneFailed(ended) : [];
    },
  }),
  world({
    name: 'accept the next, whose removal of an empty session arrives late × send, accept, receive and release',
    runsMax: 1000,
    entities: { q: sessionQueue() },
    setUp: async (actor) => {
      const [number = 0n] = await actor.send('q', inS('a'));
      const session = await actor.accept('q', 's');
      await actor.receive('q', 1, session);
      await actor.release('q', session);
      await actor.operate('q', { kind: 'delete' }, 'a', number, 's');
    },
    faults: ['late'],
    actors: {
      A: async (actor) => void (await actor.accept('q')),
      B: async (actor) => {
        await actor.after('A');
        await actor.send('q', inS('b'));
        const session = await acceptAndReceive(actor);
        await actor.release('q', session);
        await actor.pass(LOCK_MS);
        await acceptAndReceive(actor);
      },
    },
    check: noneFailed,
  }),
];

async function acceptAndReceive(actor: Actor) {
  const session = await actor.accept('q', 's');
  if (session !== undefined) await actor.receive('q', 1, session);
  return session;
}

function noneFailed({ history, found }: Ended): readonly string[] {
  const failed = history
    .of('receive')
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ failedDeliveries }) => failedDeliveries > 0);
  return [...failed, ...found.filter(({ path }) => path.includes('$'))].map(
    ({ tag, path }) => `A delivery of ${tag} that ended with a release counts as failed (${path}).`,
  );
}
