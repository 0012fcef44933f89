import { bindAll } from '../domain/bind-all.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import type { Broker } from './broker.ts';
import type { BrokerDependencies } from './dependencies.ts';
import { groupedClaim } from './group-commit/claims.ts';
import { groupedStore } from './group-commit/sends.ts';
import { groupedSettlements } from './group-commit/settlements.ts';
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

/** What group commit needs besides the dependencies of the operations. */
export interface GroupingDependencies extends BrokerDependencies {
  readonly scheduler: Scheduler;
  /** Runs work that no caller waits for. */
  readonly background: (work: () => Promise<void>) => void;
}

/**
 * Binds the operations of the broker to their dependencies, and joins sends, receives, settlements and renewals that
 * arrive together in one process (docs/decisions/0026-group-commit.md).
 */
export function createBroker(ungrouped: GroupingDependencies): Broker {
  const messages = { ...ungrouped.messages, claim: groupedClaim(ungrouped) };
  const dependencies = { ...ungrouped, messages };
  const broker = bindAll(dependencies, VERBS);
  const storeSend = groupedStore(dependencies);
  return {
    ...broker,
    ...groupedSettlements(ungrouped.scheduler, broker),
    send: (...call) => send(dependencies, storeSend, ...call),
  };
}
