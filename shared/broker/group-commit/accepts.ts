import type { Log } from '../../domain/blocks/log.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import type { AcceptedSession, AcceptNextRequest, SessionStore } from '../ports/sessions.ts';
import { type Call, type GroupLimits, Lanes } from './lanes.ts';

/** More accepts at once would each hold a session for longer before its receiver hears of it. */
const CALLS_MAX = 32;
const LIMITS: GroupLimits = { calls: CALLS_MAX, messages: CALLS_MAX, bytes: CALLS_MAX };

interface LogAccept {
  readonly log: Log;
  readonly request: AcceptNextRequest;
}

type AcceptCall = Call<LogAccept, AcceptedSession | undefined>;

/**
 * Accepts the next session for a receiver; receivers that ask one partition at the same time share one look at its
 * ready sessions, which they get in the order of asking. So they do not race for the same ones. A receiver hears that
 * there is none only from a look that began after it asked (semantics #87, #89).
 */
export function groupedAccept({
  sessions,
  scheduler,
}: {
  readonly sessions: Pick<SessionStore, 'acceptSeveral'>;
  readonly scheduler: Scheduler;
}): SessionStore['acceptNext'] {
  const lanes = new Lanes<LogAccept, AcceptedSession | undefined>(scheduler, {
    limits: LIMITS,
    patience: 1,
    carryOut: async (calls) => {
      const wanted: AcceptCall[] = [];
      for (const call of calls) {
        if (call.request.request.isWanted?.() === false) call.resolve(undefined);
        else wanted.push(call);
      }
      await acceptFor(sessions, wanted);
    },
  });
  return (log, request) =>
    lanes.join(laneOf(log, request), { log, request }, { messages: 1, bytes: 0 });
}

/** A change of the entity raises its epoch, so the requests of one lane have the same policy. */
function laneOf({ entityId, generation, partition, sessions }: Log, request: AcceptNextRequest) {
  const { policy, lockMs } = request;
  const { epoch } = policy.rules;
  return JSON.stringify([entityId, generation, partition, sessions, epoch, lockMs]);
}

async function acceptFor(
  sessions: Pick<SessionStore, 'acceptSeveral'>,
  calls: readonly AcceptCall[],
): Promise<void> {
  const [first] = calls;
  if (first === undefined) return;
  const { log, request } = first.request;
  try {
    const accepted = await sessions.acceptSeveral(log, request, calls.length);
    for (const [i, call] of calls.entries()) {
      const session = accepted.sessions[i];
      if (session === undefined && 'failure' in accepted) call.reject(accepted.failure);
      else call.resolve(session);
    }
  } catch (error) {
    for (const call of calls) call.reject(error);
  }
}
