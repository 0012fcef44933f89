import { isDeadLetterPath, waitOf } from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import {
  type ActionOf,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import { handleOf } from './receive.ts';
import type { SessionGrant } from './record.ts';

/** What clients do with sessions. */
export const sessionOperations: Operations<
  'accept' | 'renewSession' | 'releaseSession' | 'setState' | 'readState' | 'listSessions'
> = {
  accept,
  renewSession: (client, action) => renew(client, action.from),
  releaseSession: (client, action) => release(client, action.from),
  setState: (client, action) => setState(client, action),
  readState: (client, action) => readState(client, action.from),
  listSessions: (client, action) => list(client, action.from),
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function accept(
  client: Actor,
  { from, sessionId, waitMs }: ActionOf<'accept'>,
): Prepared | undefined {
  const { world } = client.parts;
  if (!world.requiresSession(from) || isDeadLetterPath(from)) return undefined;
  return {
    ask: async (composition) => {
      const lock = await broker(composition).acceptSession(pathOf(from), {
        waitMs: waitOf(world.scenario, waitMs),
        ...(sessionId === undefined ? {} : { sessionId }),
      });
      return lock === undefined ? {} : { granted: { path: from, ...lock } };
    },
    note: (heard) => {
      const details = answerOr(heard);
      if (details.granted !== undefined) client.hands.setSession(from, details.granted);
      return details;
    },
  };
}

function renew(client: Actor, path: string): Prepared | undefined {
  return inSession(client, path, async (composition, session) => {
    const { lockedUntil } = await broker(composition).renewSession(pathOf(path), handleOf(session));
    return { granted: { ...session, lockedUntil } };
  });
}

function release(client: Actor, path: string): Prepared | undefined {
  const prepared = inSession(client, path, async (composition, session) => {
    await broker(composition).releaseSession(pathOf(path), handleOf(session));
    return {};
  });
  return (
    prepared && {
      ...prepared,
      note: (heard) => {
        const details = prepared.note(heard);
        client.hands.setSession(path, undefined);
        return details;
      },
    }
  );
}

function setState(client: Actor, { from, state }: ActionOf<'setState'>): Prepared | undefined {
  return inSession(client, from, async (composition, session) => {
    const bytes = encoder.encode(state);
    await broker(composition).setSessionState(pathOf(from), handleOf(session), bytes);
    return { state };
  });
}

function readState(client: Actor, path: string): Prepared | undefined {
  return inSession(client, path, async (composition, session) => {
    const bytes = await broker(composition).sessionState(pathOf(path), handleOf(session));
    return { state: bytes === undefined ? undefined : decoder.decode(bytes) };
  });
}

function list(client: Actor, path: string): Prepared | undefined {
  if (!client.parts.world.requiresSession(path)) return undefined;
  return {
    ask: async (composition) => ({
      sessionIds: await broker(composition).listSessions(pathOf(path), { skip: 0, top: 100 }),
    }),
    note: (heard) => answerOr(heard),
  };
}

/** Does something under the lock that the client has, if it has one, and forgets it where it is lost. */
function inSession(
  client: Actor,
  path: string,
  ask: (
    composition: Parameters<Prepared['ask']>[0],
    session: SessionGrant,
  ) => ReturnType<Prepared['ask']>,
): Prepared | undefined {
  const session = client.hands.session(path);
  if (session === undefined) return undefined;
  return {
    ask: (composition) => ask(composition, session),
    note: (heard) => {
      const isLost = heard.kind === 'refused' && heard.error.code === 'SessionLockLost';
      if (isLost) client.hands.setSession(path, undefined);
      else if (heard.kind === 'done' && heard.value.granted !== undefined)
        client.hands.setSession(path, heard.value.granted);
      return { ...answerOr(heard), session };
    },
  };
}
