import type { SessionStore } from '../../broker/ports/sessions.ts';
import { bindAll } from '../../domain/bind-all.ts';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { SessionLockState } from '../../domain/blocks/session.ts';
import { FIRST_READY } from '../schema/message-keys.ts';
import { deadLetterLapsed } from '../settle/dead-letter-lapsed.ts';
import type { StoreContext } from '../store-context.ts';
import { AcceptMemory } from './accept-memory.ts';
import { acceptSeveral, cleanReadyIndex } from './accept-next.ts';
import { addMissingSessions, listSessions } from './list.ts';
import { accept, held, renewSession } from './lock.ts';
import { readReady } from './ready-index.ts';
import { release } from './release.ts';
import { readSession, toLockState } from './session-item.ts';
import { setState, state } from './state.ts';

/** How many sessions with ended locks are read before a dead-letter queue is. */
const LAPSED_MAX = 50;

/** Sessions in DynamoDB, with what only the sweep does. */
export interface SweptSessionStore extends SessionStore {
  /** Maintains the ready-session index of a partition; the sweep calls it once a day. */
  maintain(partition: Log, policy: LogPolicy): Promise<void>;
  /** Dead-letters the messages of one session whose last lock has expired. */
  deadLetterLapsedIn(session: Log, policy: LogPolicy): Promise<boolean>;
}

const VERBS = {
  accept,
  lockState,
  held,
  renew: renewSession,
  release,
  state,
  setState,
  list: listSessions,
  deadLetterLapsed: deadLetterLapsedSessions,
  maintain,
  deadLetterLapsedIn,
};

/** Sessions in DynamoDB. */
export function createSessionStore(context: StoreContext): SweptSessionStore {
  const memory = new AcceptMemory();
  return {
    ...bindAll(context, VERBS),
    acceptNext: async (partition, request) => {
      const { sessions } = await acceptSeveral(context, partition, request, 1, memory);
      return sessions[0];
    },
    acceptSeveral: (partition, request, wanted) =>
      acceptSeveral(context, partition, request, wanted, memory),
  };
}

async function lockState(context: StoreContext, session: Log): Promise<SessionLockState> {
  return toLockState(await readSession(context, session), session, context.clock.now());
}

async function deadLetterLapsedSessions(
  context: StoreContext,
  partition: Log,
  policy: LogPolicy,
): Promise<boolean> {
  const { entries } = await readReady(context, partition, {
    from: FIRST_READY,
    dueBy: context.clock.now(),
    limit: LAPSED_MAX,
  });
  // Only entries for the end of a lock have no stamp.
  const ended = entries.filter(({ stamp }) => stamp === undefined);
  const sessions = new Set(ended.map(({ sessionId }) => sessionId));
  const outcomes = await Promise.all(
    Array.from(sessions, (id) => deadLetterLapsedIn(context, logOfSession(partition, id), policy)),
  );
  return outcomes.includes(true);
}

async function maintain(context: StoreContext, partition: Log, policy: LogPolicy): Promise<void> {
  await cleanReadyIndex(context, partition, policy);
  await addMissingSessions(context, partition, policy);
}

async function deadLetterLapsedIn(
  context: StoreContext,
  session: Log,
  policy: LogPolicy,
): Promise<boolean> {
  const rules = { ...policy.rules, session: await lockState(context, session) };
  return await deadLetterLapsed(context, session, { ...policy, rules });
}
