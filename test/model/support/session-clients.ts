import assert from 'node:assert/strict';
import type { AsyncCommand } from 'fast-check';
import type { TestBroker } from '../../support/test-broker.ts';
import { type SessionLockAnswer, TestSession } from '../../support/test-session.ts';
import { type Handle, type HeldLock, LOCK_MS, type SessionModel } from './session-model.ts';
import { pick } from './step.ts';

/** A queue that requires sessions, used through two processes that do not communicate. */
export class SessionClients {
  readonly brokers: readonly TestBroker[];
  readonly queue: string;
  readonly #locks = new Map<HeldLock, SessionLockAnswer>();

  constructor(brokers: readonly TestBroker[], queue: string) {
    this.brokers = brokers;
    this.queue = queue;
  }

  /** The process for a drawn number. */
  at(drawn: number): TestBroker {
    return pick(this.brokers, drawn);
  }

  enter(held: HeldLock, lock: SessionLockAnswer): void {
    this.#locks.set(held, lock);
  }

  /** The session under a lock, through one of the processes. */
  session(held: HeldLock, drawn: number): TestSession {
    const lock = this.#locks.get(held);
    if (lock === undefined) throw new Error('A held session has a lock.');
    return new TestSession(this.at(drawn), this.queue, lock);
  }

  settings(maxDeliveryCount: number): Record<string, string> {
    return {
      LockDuration: `PT${LOCK_MS / 1000}S`,
      RequiresSession: 'true',
      MaxDeliveryCount: `${maxDeliveryCount}`,
    };
  }
}

export type SessionStep = AsyncCommand<SessionModel, SessionClients>;

export function step(
  name: string,
  check: (model: SessionModel) => boolean,
  run: (model: SessionModel, clients: SessionClients) => Promise<string | undefined>,
): SessionStep {
  return {
    check,
    run: async (model, clients) => {
      const place = model.history.push(`${name} …`) - 1;
      model.now = clients.at(0).clock.now();
      const outcome = await run(model, clients);
      model.history[place] = outcome === undefined ? name : `${name}: ${outcome}`;
    },
    toString: () => name,
  };
}

/** A step under the lock of a holder, which it may have lost. */
export function underLock(
  name: string,
  holder: number,
  run: (
    handle: Handle,
    isLive: boolean,
    model: SessionModel,
    clients: SessionClients,
  ) => Promise<string | undefined>,
): SessionStep {
  return step(
    `${name}(${holder})`,
    (model) => model.handles[holder] !== undefined,
    async (model, clients) => {
      const handle = model.handles[holder];
      assert.ok(handle);
      const isLive = model.isLive(handle.held);
      const outcome = await run(handle, isLive, model, clients);
      return `${handle.held.session}${isLive ? '' : ' (lost)'} ${outcome ?? ''}`;
    },
  );
}

export function requireLost(answer: {
  readonly status: number;
  readonly headers: Headers;
}): 'lost' {
  assert.equal(answer.status, 410);
  assert.equal(answer.headers.get('x-dynabus-error'), 'SessionLockLost');
  return 'lost';
}
