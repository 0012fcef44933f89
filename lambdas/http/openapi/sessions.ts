import {
  answer,
  content,
  EXAMPLE_SESSION_LOCK,
  json,
  type OperationDetails,
  requestBody,
} from './components.ts';
import { ANY, nothingCame } from './messages.ts';

/** What the contract says of the operations on sessions. */

const lock = json('SessionLock', {
  sessionId: 'customer-7',
  sessionLock: EXAMPLE_SESSION_LOCK,
  lockedUntilUtc: 'Thu, 15 Jan 2026 12:01:00 GMT',
});
const state = content('application/octet-stream', {}, ['{"step":3}']);
const parameters = ['heldSession', 'heldSessionLock'] as const;

/** By the names of the route table. */
export const SESSION_OPERATIONS = {
  acceptSession: {
    description:
      'With sessionId that session, whether or not it has messages; without, the one that has waited longest with messages to hand out.',
    parameters: ['sessionId', 'timeout'],
    answers: { 201: answer('Locked.', lock), 204: nothingCame },
    refusals: [...ANY, 409],
  },
  renewSession: {
    parameters,
    answers: { 200: answer('The lock runs anew.', lock) },
    refusals: ANY,
  },
  releaseSession: {
    parameters,
    answers: { 200: answer('Others can accept the session.') },
    refusals: ANY,
  },
  getSessionState: {
    parameters,
    answers: { 200: answer('The state.', state), 204: answer('None was set.') },
    refusals: ANY,
  },
  setSessionState: {
    parameters,
    body: requestBody(state),
    answers: { 200: answer('Set.') },
    refusals: ANY,
  },
  clearSessionState: {
    parameters,
    answers: { 200: answer('Cleared.') },
    refusals: ANY,
  },
  listSessions: {
    parameters: ['sessionsSkip', 'sessionsTop', 'updatedAfter'],
    answers: { 200: answer('Their ids.', json('Sessions', { sessionIds: ['customer-7'] })) },
    refusals: ANY,
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
