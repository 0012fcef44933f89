import {
  answer,
  content,
  EXAMPLE_SESSION_LOCK,
  json,
  type OperationDetails,
  requestBody,
} from './components.ts';
import { ANY, noMessage } from './messages.ts';

const lock = json('SessionLock', {
  sessionId: 'customer-7',
  sessionLock: EXAMPLE_SESSION_LOCK,
  lockedUntilUtc: 'Thu, 15 Jan 2026 12:01:00 GMT',
  lockedUntil: '2026-01-15T12:01:00.250Z',
});
const state = content('application/octet-stream', {}, ['{"step":3}']);
const parameters = ['heldSession', 'heldSessionLock'] as const;

/** The details of the operations on sessions, by route name. */
export const SESSION_OPERATIONS = {
  acceptSession: {
    description:
      'With sessionId: that session, even if it has no messages. Without it: the session with available messages that has waited longest.',
    parameters: ['sessionId', 'timeout'],
    answers: { 201: answer('The lock of the session.', lock), 204: noMessage },
    refusals: [...ANY, 409],
  },
  renewSession: {
    parameters,
    answers: { 200: answer('The renewed lock.', lock) },
    refusals: ANY,
  },
  releaseSession: {
    parameters,
    answers: { 200: answer('The lock is released; other receivers can accept the session.') },
    refusals: ANY,
  },
  getSessionState: {
    parameters,
    answers: { 200: answer('The state.', state), 204: answer('The session has no state.') },
    refusals: ANY,
  },
  setSessionState: {
    parameters,
    body: requestBody(state),
    answers: { 200: answer('The state is set.') },
    refusals: ANY,
  },
  clearSessionState: {
    parameters,
    answers: { 200: answer('The state is cleared.') },
    refusals: ANY,
  },
  listSessions: {
    parameters: ['sessionsSkip', 'sessionsTop', 'updatedAfter'],
    answers: { 200: answer('The session ids.', json('Sessions', { sessionIds: ['customer-7'] })) },
    refusals: ANY,
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
