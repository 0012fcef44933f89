import type { Hono } from 'hono';
import type { SessionLock } from '../../../shared/broker/broker.ts';
import { stateTooLarge } from '../../../shared/domain/blocks/session.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { lockEnds } from '../format/date-text.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import { parseWait, retryHeaders } from '../format/receive-query.ts';
import { parseListSessions, sessionHandleOf, sessionIdOf } from '../format/session-query.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { plainLimit, withBody } from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';

const STATE_LIMIT = plainLimit(LIMITS.sessionStateBytes, stateTooLarge);

/** Adds the routes of sessions: their locks, their states and their list (docs/semantics/sessions.md). */
export function serveSessions(app: Hono, dependencies: HttpDependencies): void {
  const { broker } = dependencies;

  serve(app, dependencies, 'acceptSession', async (c, path, confirmRight) => {
    const sessionId = sessionIdOf(c);
    const wait = parseWait(c.req.query('timeout'), dependencies.receiveWaitMsMax);
    const lock = await broker.acceptSession(path, {
      waitMs: wait.ms,
      // During a wait the client may disconnect or lose its right.
      ...(wait.ms === 0 ? {} : { beforeAttempt: confirmRight, signal: c.req.raw.signal }),
      sessionId,
    });
    // No session came in time (semantics #89).
    if (lock === undefined) return c.body(null, 204, retryHeaders(wait));
    return jsonAnswer(c, printLock(lock), 201);
  });
  serve(app, dependencies, 'renewSession', async (c, path) =>
    jsonAnswer(c, printLock(await broker.renewSession(path, sessionHandleOf(c)))),
  );
  serve(app, dependencies, 'releaseSession', async (c, path) => {
    await broker.releaseSession(path, sessionHandleOf(c));
    return c.body(null, 200);
  });

  serve(app, dependencies, 'getSessionState', async (c, path) => {
    const state = await broker.sessionState(path, sessionHandleOf(c));
    if (state === undefined) return c.body(null, 204);
    return c.body(Uint8Array.from(state), 200, { 'Content-Type': 'application/octet-stream' });
  });
  serve(app, dependencies, 'setSessionState', async (c, path) => {
    await withBody(dependencies, c.req.raw, STATE_LIMIT, (state) =>
      broker.setSessionState(path, sessionHandleOf(c), state),
    );
    return c.body(null, 200);
  });
  serve(app, dependencies, 'clearSessionState', async (c, path) => {
    await broker.setSessionState(path, sessionHandleOf(c), undefined);
    return c.body(null, 200);
  });

  serve(app, dependencies, 'listSessions', async (c, path) => {
    const sessionIds = await broker.listSessions(path, parseListSessions(c));
    return jsonAnswer(c, JSON.stringify({ sessionIds }));
  });
}

function printLock({ sessionId, lockToken, lockedUntil }: SessionLock): string {
  return JSON.stringify({ sessionId, sessionLock: lockToken, ...lockEnds(lockedUntil) });
}
