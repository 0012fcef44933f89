import type { AmqpBroker } from '../../amqp/service/dependencies.ts';
import type { Clock, RandomSource } from '../../shared/domain/clock.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { type Calls, JSON_BODY } from './calls/caller.ts';
import { SUCCESS } from './calls/success.ts';
import type { RemoteEntities } from './entities.ts';
import { newId } from './format/ids.ts';
import { Paces } from './messages/paces.ts';
import { RemoteReceiving } from './messages/receiving.ts';
import { remoteRenewals } from './messages/renewals.ts';
import { RemoteSending } from './messages/sending.ts';
import { RemoteSessions } from './messages/sessions.ts';
import { printTransaction, readOutcomes } from './messages/transactions.ts';
import { plainCalls } from './plain-calls.ts';

/** The dependencies of a broker over HTTP. */
export interface RemoteDependencies {
  readonly caller: Calls;
  readonly entities: RemoteEntities;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly scheduler: Scheduler;
  readonly background: (work: () => Promise<void>) => void;
  /** Gives each send and each transaction an id, so that it is repeated where its answer got lost. */
  readonly sendsOnce: boolean;
}

/** The broker of a namespace that is reached over its HTTP interface. */
export function createRemoteBroker(dependencies: RemoteDependencies): AmqpBroker {
  const { caller, scheduler, sendsOnce, random } = dependencies;
  const paces = new Paces(scheduler);
  const receiving = new RemoteReceiving({ ...dependencies, paces });
  const sending = new RemoteSending(dependencies);
  const sessions = new RemoteSessions({ caller, scheduler, paces });
  return {
    send: async (path, messages, options) => {
      const sent = await sending.send(path, messages, options);
      paces.sent(path, messages);
      return sent;
    },
    receive: (...call) => receiving.receive(...call),
    settle: (path, settlements, sessionId) => receiving.settle(path, settlements, sessionId),
    renewLocks: remoteRenewals(caller, scheduler),
    acceptSession: (...call) => sessions.acceptSession(...call),
    renewSession: (...call) => sessions.renewSession(...call),
    releaseSession: (...call) => sessions.releaseSession(...call),
    sessionState: (...call) => sessions.sessionState(...call),
    setSessionState: (...call) => sessions.setSessionState(...call),
    listSessions: (...call) => sessions.listSessions(...call),
    transact: async (transaction) => {
      const body = printTransaction(transaction, sendsOnce ? newId(random) : undefined);
      const path = '$transactions';
      const call = { method: 'POST', path, headers: JSON_BODY, body } as const;
      const { text } = await caller.call({
        ...call,
        isRepeatable: sendsOnce,
        success: SUCCESS.json,
      });
      for (const operation of transaction.operations) {
        const { kind, path: target } = operation;
        if (kind === 'send') paces.sent(target, operation.messages);
        else paces.of(target, operation.sessionId).active();
      }
      return readOutcomes(text, transaction);
    },
    ...plainCalls(caller),
  };
}
