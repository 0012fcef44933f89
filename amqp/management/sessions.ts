import { type AmqpValue, array, binary, int, mapOf, NULL, str, timestamp } from '../wire/value.ts';
import { Body, type OperationRequest } from './operation.ts';

/** .NET's largest instant: what is asked for are sessions with messages (semantics #99). */
const WITH_MESSAGES_FROM = 253_402_300_799_000;

/** Session ids in one answer. */
const PAGE_MAX = 1000;

export async function renewSession({ context, path, body }: OperationRequest): Promise<AmqpValue> {
  const handle = context.sessions.handle(path, new Body(body).requiredText('session-id'));
  const lock = await context.dependencies.broker.renewSession(path, handle);
  context.sessions.renewed(path, lock);
  return mapOf({ expiration: timestamp(lock.lockedUntil) });
}

export async function sessionState({ context, path, body }: OperationRequest): Promise<AmqpValue> {
  const handle = context.sessions.handle(path, new Body(body).requiredText('session-id'));
  const state = await context.dependencies.broker.sessionState(path, handle);
  return mapOf({ 'session-state': state === undefined ? NULL : binary(state) });
}

export async function setSessionState({
  context,
  path,
  body,
}: OperationRequest): Promise<AmqpValue> {
  const fields = new Body(body);
  const handle = context.sessions.handle(path, fields.requiredText('session-id'));
  const state = fields.at('session-state');
  const bytes = state?.type === 'binary' ? Uint8Array.from(state.value) : undefined;
  await context.dependencies.broker.setSessionState(path, handle, bytes);
  return mapOf({});
}

export async function listSessions({
  context,
  path,
  body,
}: OperationRequest): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const skip = fields.skipped('skip');
  const updatedAfter = fields.number('last-updated-time');
  const ids = await context.dependencies.broker.listSessions(path, {
    skip,
    top: fields.requiredCount('top', PAGE_MAX),
    ...(updatedAfter === undefined || updatedAfter >= WITH_MESSAGES_FROM ? {} : { updatedAfter }),
  });
  if (ids.length === 0) return undefined;
  return mapOf({ skip: int(skip + ids.length), 'sessions-ids': array('string', ids.map(str)) });
}
