import { lockEndShown } from '../service/dependencies.ts';
import { type AmqpValue, array, binary, int, mapOf, NULL, str, timestamp } from '../wire/value.ts';
import { Body, type Input } from './operation-input.ts';

/** `DateTime.MaxValue` of .NET, in whole seconds: it asks for sessions with active messages (semantics #99). */
const DATE_TIME_MAX_AT = 253_402_300_799_000;

/** The most session ids in one reply. */
const PAGE_MAX = 1000;

/** `renew-session-lock`: renews the session lock of a link of this connection. Throws SessionLockLost. */
export async function renewSession({ context, path, body }: Input): Promise<AmqpValue> {
  const handle = context.sessions.handle(path, new Body(body).requiredText('session-id'));
  const lock = await context.dependencies.broker.renewSession(path, handle);
  context.sessions.renewed(path, lock);
  return mapOf({ expiration: timestamp(lockEndShown(context.dependencies, lock.lockedUntil)) });
}

/** `get-session-state`: returns the state of a session, null if it has none. Throws SessionLockLost. */
export async function sessionState({ context, path, body }: Input): Promise<AmqpValue> {
  const handle = context.sessions.handle(path, new Body(body).requiredText('session-id'));
  const state = await context.dependencies.broker.sessionState(path, handle);
  return mapOf({ 'session-state': state === undefined ? NULL : binary(state) });
}

/** `set-session-state`: sets the state of a session, or clears it with null. Throws SessionLockLost. */
export async function setSessionState({ context, path, body }: Input): Promise<AmqpValue> {
  const fields = new Body(body);
  const handle = context.sessions.handle(path, fields.requiredText('session-id'));
  const state = fields.at('session-state');
  const bytes = state?.type === 'binary' ? Uint8Array.from(state.value) : undefined;
  await context.dependencies.broker.setSessionState(path, handle, bytes);
  return mapOf({});
}

/** `get-message-sessions`: returns a page of session ids and the next `skip`, undefined if it is empty. */
export async function listSessions({ context, path, body }: Input): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const skip = fields.skipped('skip');
  const updatedAfter = fields.number('last-updated-time');
  const ids = await context.dependencies.broker.listSessions(path, {
    skip,
    top: fields.requiredCount('top', PAGE_MAX),
    ...(updatedAfter === undefined || updatedAfter >= DATE_TIME_MAX_AT ? {} : { updatedAfter }),
  });
  if (ids.length === 0) return undefined;
  return mapOf({ skip: int(skip + ids.length), 'sessions-ids': array('string', ids.map(str)) });
}
