import type { Broker } from './broker.ts';
import type { BrokerParts } from './dependencies.ts';
import { deleteMessages, purge, resubmit } from './operate/bulk.ts';
import { cancelScheduled, operate, receiveDeferred } from './operate/by-sequence-number.ts';
import { peek } from './receive/peek.ts';
import { receive } from './receive/receive.ts';
import { send } from './send/send.ts';
import {
  acceptSession,
  listSessions,
  releaseSession,
  renewSession,
  sessionState,
  setSessionState,
} from './sessions/sessions.ts';
import { renewLocks, settle } from './settle/settle.ts';
import { transact } from './transactions/transact.ts';

/** Puts the broker together from its parts. */
export function createBroker(parts: BrokerParts): Broker {
  return {
    send: (path, messages) => send(parts, path, messages),
    receive: (path, options) => receive(parts, path, options),
    settle: (path, settlements, sessionId) => settle(parts, path, settlements, sessionId),
    renewLocks: (path, lockTokens) => renewLocks(parts, path, lockTokens),
    transact: (transaction) => transact(parts, transaction),
    cancelScheduled: (path, numbers) => cancelScheduled(parts, path, numbers),
    peek: (path, options) => peek(parts, path, options),
    receiveDeferred: (path, options) => receiveDeferred(parts, path, options),
    acceptSession: (path, options) => acceptSession(parts, path, options),
    renewSession: (path, session) => renewSession(parts, path, session),
    releaseSession: (path, session) => releaseSession(parts, path, session),
    sessionState: (path, session) => sessionState(parts, path, session),
    setSessionState: (path, session, state) => setSessionState(parts, path, session, state),
    listSessions: (path, options) => listSessions(parts, path, options),
    operate: (path, operation, numbers, sessionId) =>
      operate(parts, path, operation, numbers, sessionId),
    deleteMessages: (path, options) => deleteMessages(parts, path, options),
    resubmit: (path, maxMessages) => resubmit(parts, path, maxMessages),
    purge: (path) => purge(parts, path),
  };
}
