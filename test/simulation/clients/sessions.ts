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

/** Operations on sessions. */
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
  const { world } = client.context;
  if (!world.requiresSession(from) || isDeadLetterPath(from)) return undefined;
  return {
    run: async (composition) => {
      const lock = await broker(composition).acceptSession(pathOf(from), {
        waitMs: waitOf(world.scenario, waitMs),
        ...(sessionId === undefined ? {} : { sessionId }),
      });
      return lock === undefined ? {} : { granted: { path: from, ...lock } };
    },
    record: (result) => {
      const details = answerOr(result);
      if (details.granted !== undefined) client.locks.setSession(from, details.granted);
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
      record: (result) => {
        const details = prepared.record(result);
        client.locks.setSession(path, undefined);
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
  if (!client.context.world.requiresSession(path)) return undefined;
  return {
    run: async (composition) => ({
      sessionIds: await broker(composition).listSessions(pathOf(path), { skip: 0, top: 100 }),
    }),
    record: (result) => answerOr(result),
  };
}

/** An operation under the client's session lock, which the client drops if it is lost. */
function inSession(
  client: Actor,
  path: string,
  run: (
    composition: Parameters<Prepared['run']>[0],
    session: SessionGrant,
  ) => ReturnType<Prepared['run']>,
): Prepared | undefined {
  const session = client.locks.session(path);
  if (session === undefined) return undefined;
  return {
    run: (composition) => run(composition, session),
    record: (result) => {
      const isLost = result.kind === 'refused' && result.error.code === 'SessionLockLost';
      if (isLost) client.locks.setSession(path, undefined);
      else if (result.kind === 'done' && result.value.granted !== undefined)
        client.locks.setSession(path, result.value.granted);
      return { ...answerOr(result), session };
    },
  };
}
