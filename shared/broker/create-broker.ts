import { bindAll } from '../domain/bind-all.ts';
import type { Broker } from './broker.ts';
import type { BrokerDependencies } from './dependencies.ts';
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

const VERBS = {
  send,
  receive,
  settle,
  renewLocks,
  transact,
  cancelScheduled,
  peek,
  receiveDeferred,
  acceptSession,
  renewSession,
  releaseSession,
  sessionState,
  setSessionState,
  listSessions,
  operate,
  deleteMessages,
  resubmit,
  purge,
};

/** Binds the operations of the broker to their dependencies. */
export function createBroker(dependencies: BrokerDependencies): Broker {
  return bindAll(dependencies, VERBS);
}
