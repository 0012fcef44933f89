import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { SessionRules } from '../../domain/blocks/session.ts';

/** A session that somebody holds from now on. */
export interface AcceptedSession {
  readonly sessionId: string;
  /** Sixteen bytes. */
  readonly token: Uint8Array;
  /** Epoch ms. */
  readonly lockedUntil: number;
}

export interface AcceptNextRequest {
  readonly policy: LogPolicy;
  readonly lockMs: number;
  /**
   * Epoch ms until which locks may last that a change of the entity ended before their time; absent =
   * there can be none.
   */
  readonly brokenUntil?: number;
}

export interface SessionPage {
  readonly skip: number;
  readonly top: number;
  /** Only sessions whose state was set after this, epoch ms; absent = those with active messages. */
  readonly updatedAfter?: number;
}

/**
 * Keeps the locks and states of sessions. A log with a session id stands for the session; one without
 * for all sessions of a partition. Whoever acts under a lock shows its token: all such methods throw
 * SessionLockLost where it is not live. All throw ServiceBusy and ServiceTimeout.
 */
export interface SessionStore {
  /** Locks a session, whether or not it has messages. Undefined = somebody holds it. */
  accept(session: Log, lockMs: number): Promise<AcceptedSession | undefined>;
  /**
   * Locks the session that has waited longest among those that have messages to hand out and that
   * nobody holds. Undefined = there is none.
   */
  acceptNext(partition: Log, request: AcceptNextRequest): Promise<AcceptedSession | undefined>;
  /** What holds for a session's messages now. */
  rulesOf(session: Log): Promise<SessionRules>;
  /** The same for the holder of a lock. */
  held(session: Log, token: Uint8Array): Promise<SessionRules>;
  /** Starts the lock anew; returns its new end, epoch ms. */
  renew(session: Log, token: Uint8Array, lockMs: number): Promise<number>;
  /** Gives the session back: what was not settled is no failed delivery (semantics #94). */
  release(session: Log, token: Uint8Array): Promise<void>;
  /** Undefined = none was set. */
  state(session: Log, token: Uint8Array): Promise<Uint8Array | undefined>;
  /** Undefined clears it. */
  setState(session: Log, token: Uint8Array, state: Uint8Array | undefined): Promise<void>;
  /** Ids of sessions, in an order of their own that does not change. */
  list(partition: Log, page: SessionPage, policy: LogPolicy): Promise<readonly string[]>;
  /** As `MessageStore.deadLetterLapsed`, for the sessions whose locks have ended of late. */
  deadLetterLapsed(partition: Log, policy: LogPolicy): Promise<boolean>;
}
