import { fieldOf } from '../../../client/client-errors.ts';
import type {
  AcceptOptions,
  ListSessionsOptions,
  SessionHandle,
  SessionLock,
} from '../../../shared/broker/broker.ts';
import {
  BrokerError,
  isTransient,
  isUnknownOutcome,
  serviceBusy,
  unknownOutcome,
} from '../../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import type { Calls } from '../calls/caller.ts';
import { SUCCESS, type Success } from '../calls/success.ts';
import { pathText } from '../format/paths.ts';
import type { Paces } from './paces.ts';

/** The dependencies of sessions over HTTP. */
export interface SessionDependencies {
  readonly caller: Calls;
  readonly scheduler: Scheduler;
  readonly paces: Paces;
}

/** The operations on sessions, over HTTP. See `Broker` for each. */
export class RemoteSessions {
  readonly #dependencies: SessionDependencies;
  /** The looks for the next session under way, by queue: who comes meanwhile takes part in what they find. */
  readonly #looks = new Map<string, Promise<unknown>>();

  constructor(dependencies: SessionDependencies) {
    this.#dependencies = dependencies;
  }

  async acceptSession(path: EntityPath, options: AcceptOptions): Promise<SessionLock | undefined> {
    const { scheduler, paces } = this.#dependencies;
    const deadline = scheduler.now() + options.waitMs;
    const pace = paces.of(path, options.sessionId);
    /** Whether an answer got lost, so that the session may be locked for this caller. */
    let mayHold = false;
    for (;;) {
      await options.beforeAttempt?.();
      if (options.signal?.aborted) return undefined;
      const isLast = scheduler.now() >= deadline;
      try {
        const lock = await this.#look(path, options);
        if (lock !== undefined) {
          pace.active();
          return lock;
        }
        if (isLast) return undefined;
      } catch (error) {
        if (!isTransient(error)) throw mayHold && isHeld(error) ? unknownOutcome(error) : error;
        if (isLast) throw serviceBusy(error.message, { cause: error });
        mayHold ||= isUnknownOutcome(error);
      }
      pace.foundNothing();
      options.onWait?.();
      await pace.wait(deadline - scheduler.now(), options.signal);
    }
  }

  async renewSession(path: EntityPath, session: SessionHandle): Promise<SessionLock> {
    return readLock(await this.#call('POST', path, '$renew', session, SUCCESS.json));
  }

  async releaseSession(path: EntityPath, session: SessionHandle): Promise<void> {
    await this.#call('POST', path, '$release', session, SUCCESS.done);
    // Another receiver may accept it.
    this.#dependencies.paces.of(path).lookNow();
  }

  async sessionState(path: EntityPath, session: SessionHandle): Promise<Uint8Array | undefined> {
    const { status, bytes } = await this.#call('GET', path, '$state', session, SUCCESS.bytes);
    return status === NO_CONTENT ? undefined : bytes;
  }

  async setSessionState(
    path: EntityPath,
    session: SessionHandle,
    state: Uint8Array | undefined,
  ): Promise<void> {
    const method = state === undefined ? 'DELETE' : 'PUT';
    await this.#call(method, path, '$state', session, SUCCESS.done, state);
  }

  async listSessions(path: EntityPath, options: ListSessionsOptions): Promise<readonly string[]> {
    const { skip, top, updatedAfter } = options;
    const after = updatedAfter === undefined ? undefined : new Date(updatedAfter).toISOString();
    const answer = await this.#dependencies.caller.call({
      method: 'GET',
      path: `${pathText(path)}/sessions/$list`,
      query: { skip, top, updatedAfter: after },
      success: SUCCESS.json,
      isRepeatable: true,
    });
    const ids = fieldOf(JSON.parse(answer.text), 'sessionIds');
    if (!Array.isArray(ids)) throw new Error('An answer has no ids of sessions.');
    return ids.map(String);
  }

  /** One request at a time looks for the next session; where it finds none, nobody else looks until the next time. */
  async #look(
    path: EntityPath,
    { sessionId, signal }: AcceptOptions,
  ): Promise<SessionLock | undefined> {
    if (sessionId !== undefined) return await this.#accept(path, sessionId);
    const key = pathText(path).toLowerCase();
    for (let look = this.#looks.get(key); look !== undefined; look = this.#looks.get(key)) {
      if ((await look) === undefined || signal?.aborted) return undefined;
    }
    const look = this.#accept(path, undefined);
    this.#looks.set(key, look);
    try {
      return await look;
    } finally {
      this.#looks.delete(key);
    }
  }

  /** Where an answer got lost, the session that it has locked is locked until that ends by time. */
  async #accept(path: EntityPath, sessionId: string | undefined): Promise<SessionLock | undefined> {
    const answer = await this.#dependencies.caller.call({
      method: 'POST',
      path: `${pathText(path)}/sessions/$accept`,
      query: { sessionId, timeout: 0 },
      success: SUCCESS.session,
      isRepeatable: false,
      // Who waits for the next session asks again anyway.
      ...(sessionId === undefined && { isTriedOnce: true }),
    });
    return answer.status === NO_CONTENT ? undefined : readLock(answer);
  }

  #call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: EntityPath,
    operation: string,
    { sessionId, lockToken }: SessionHandle,
    success: Success,
    body?: Uint8Array,
  ) {
    return this.#dependencies.caller.call({
      method,
      path: `${pathText(path)}/sessions/${operation}`,
      query: { sessionId, sessionLock: lockToken },
      ...(body !== undefined && { body }),
      success,
      isRepeatable: true,
    });
  }
}

function isHeld(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'SessionCannotBeLocked';
}

const NO_CONTENT = 204;

function readLock({ text }: { readonly text: string }): SessionLock {
  const json: unknown = JSON.parse(text);
  return {
    sessionId: String(fieldOf(json, 'sessionId')),
    lockToken: String(fieldOf(json, 'sessionLock')),
    lockedUntil: readInstant(fieldOf(json, 'lockedUntil')),
  };
}

/** Reads an ISO 8601 instant as epoch ms. */
export function readInstant(json: unknown): number {
  const at = Date.parse(String(json));
  if (Number.isNaN(at)) throw new Error('An answer has no instant where it must have one.');
  return at;
}
