import { bindAll } from '../domain/bind-all.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import type { Broker } from './broker.ts';
import type { BrokerDependencies } from './dependencies.ts';
import type { shareCalls } from './group-commit/share-calls.ts';
import { deleteMessages, purge, resubmit } from './operate/bulk.ts';
import { cancelScheduled, operate, receiveDeferred } from './operate/by-sequence-number.ts';
import { peek } from './receive/peek.ts';
import { receive } from './receive/receive.ts';
import type { DueForwards } from './routing/due-forwards.ts';
import { type StoreSend, send, storeMessages } from './send/send.ts';
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

/** What a broker is created from. */
export interface BrokerParts extends BrokerDependencies {
  readonly scheduler: Scheduler;
  /** Runs work that no caller waits for. */
  readonly background: (work: () => Promise<void>) => void;
}

/** How a process serves its clients. */
export interface Serving {
  readonly create: (parts: BrokerParts) => Broker;
  /**
   * Whether a receive may choose among what an earlier one has read. Only for a process that serves most of the
   * receivers of a log: many processes that remember the same messages would choose the same.
   */
  readonly remembersScans: boolean;
  /** Lets calls that arrive together share requests; absent = each has its own. A function does not load it. */
  readonly share?: typeof shareCalls;
  /**
   * Makes what forwards scheduled messages when they come due; absent = the sweep does, as for a function, which is
   * frozen between calls and does not load it.
   */
  readonly dueForwards?: (...parts: ConstructorParameters<typeof DueForwards>) => DueForwards;
}

/** For a process that serves one request at a time beside many others, such as a function. */
export const ONE_AT_A_TIME: Serving = {
  create: (parts) => createBroker(parts),
  remembersScans: false,
};

/** Creates a broker for a process that serves one request at a time: each call has its own requests to the database. */
export function createBroker(dependencies: BrokerDependencies): Broker {
  const storeSend: StoreSend = (accepted) =>
    storeMessages(dependencies, accepted, dependencies.clock.now());
  return {
    ...bindAll(dependencies, VERBS),
    send: (...call) => send(dependencies, storeSend, ...call),
  };
}
