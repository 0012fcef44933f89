import type { Context } from 'hono';
import type { ListSessionsOptions, SessionHandle } from '../../../shared/broker/broker.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseDate } from './date-text.ts';

const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const WHOLE_NUMBER = /^\d{1,9}$/;
const TOP_MAX = 1000;
const TOP_DEFAULT = 100;

/**
 * The `sessionId` of a request; undefined where it has none. It is in the query, because any text is a
 * session id, even the empty one, and gateways normalize paths. `sessionLock`, the lock token of the
 * session, is beside it.
 */
export function sessionIdOf(c: Context): string | undefined {
  return c.req.query('sessionId');
}

/** The session and its lock token; undefined if the request names no session. Throws ArgumentError. */
export function optionalSessionOf(c: Context): SessionHandle | undefined {
  return sessionIdOf(c) === undefined ? undefined : sessionHandleOf(c);
}

/** The session and its lock token. Throws ArgumentError where one of them is missing. */
export function sessionHandleOf(c: Context): SessionHandle {
  const sessionId = sessionIdOf(c);
  if (sessionId === undefined)
    throw argumentError('The query names no session: sessionId is required.');
  const lockToken = c.req.query('sessionLock');
  if (lockToken === undefined) {
    throw argumentError('The query holds no lock of the session: sessionLock is required.');
  }
  if (GUID.test(lockToken)) return { sessionId, lockToken: lockToken.toLowerCase() };
  throw argumentError(`The sessionLock '${lockToken.slice(0, 64)}' is not a GUID.`);
}

/** Reads `skip`, `top` and `updatedAfter` of a list of sessions. Throws ArgumentError. */
export function parseListSessions(c: Context): ListSessionsOptions {
  const skip = count(c, 'skip', 0, Number.MAX_SAFE_INTEGER) ?? 0;
  const top = count(c, 'top', 1, TOP_MAX) ?? TOP_DEFAULT;
  const after = c.req.query('updatedAfter');
  if (after === undefined) return { skip, top };
  const updatedAfter = parseDate(after);
  if (updatedAfter !== undefined) return { skip, top, updatedAfter };
  throw argumentError(
    `The updatedAfter '${after.slice(0, 64)}' is not a date like 2033-11-06T08:49:37Z.`,
  );
}

function count(c: Context, name: string, least: number, most: number): number | undefined {
  const text = c.req.query(name);
  if (text === undefined) return undefined;
  const value = WHOLE_NUMBER.test(text) ? Number(text) : -1;
  if (value >= least && value <= most) return value;
  throw argumentError(
    `The ${name} '${text.slice(0, 32)}' is not a whole number from ${least} to ${most}.`,
  );
}
