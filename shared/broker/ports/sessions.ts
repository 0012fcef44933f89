import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { SessionLockState } from '../../domain/blocks/session.ts';
import type { ListSessionsOptions } from '../session-types.ts';

/** A session that was just locked. */
export interface AcceptedSession {
  readonly sessionId: string;
  /** Sixteen bytes. */
  readonly token: Uint8Array;
  /** Epoch ms. */
  readonly lockedUntil: number;
}

/** Sessions that one call accepted for several receivers. */
export interface AcceptedSessions {
  readonly sessions: readonly AcceptedSession[];
  /** Why there are fewer than wanted; absent = no other session was ready. */
  readonly failure?: unknown;
}

/** How to accept the next session. */
export interface AcceptNextRequest {
  readonly policy: LogPolicy;
  readonly lockMs: number;
  /** Whether the receiver still waits for a session; absent = it does. */
  readonly isWanted?: () => boolean;
  /** The latest end, epoch ms, that locks had which a change of the entity has ended; absent = there are none. */
  readonly brokenUntil?: number;
}

/**
 * Keeps the locks and states of sessions. A log with a session id means that session; one without means all sessions
 * of a partition. Methods that take a lock's token throw SessionLockLost if the lock is not live. All methods throw
 * ServiceBusy and ServiceTimeout.
 */
export interface SessionStore {
  /** Locks a session, whether or not it has messages. Undefined = it has a holder. */
  accept(session: Log, lockMs: number): Promise<AcceptedSession | undefined>;
  /**
   * Locks the session that has waited longest among those with messages and without a holder. Undefined = there is
   * none.
   */
  acceptNext(partition: Log, request: AcceptNextRequest): Promise<AcceptedSession | undefined>;
  /** The same for several receivers, each of which gets another session. */
  acceptSeveral(
    partition: Log,
    request: AcceptNextRequest,
    wanted: number,
  ): Promise<AcceptedSessions>;
  /** The state of a session's lock now. */
  lockState(session: Log): Promise<SessionLockState>;
  /** The same for the holder of the lock. */
  held(session: Log, token: Uint8Array): Promise<SessionLockState>;
  /** Renews the lock; returns its new end, epoch ms. */
  renew(session: Log, token: Uint8Array, lockMs: number): Promise<number>;
  /** Ends the lock. Messages that were not settled count no failed delivery (semantics #94). */
  release(session: Log, token: Uint8Array): Promise<void>;
  /** The state; undefined = none was set. */
  state(session: Log, token: Uint8Array): Promise<Uint8Array | undefined>;
  /** Sets the state; undefined clears it. */
  setState(session: Log, token: Uint8Array, state: Uint8Array | undefined): Promise<void>;
  /** Ids of the first sessions, in an order that does not change. */
  list(
    partition: Log,
    first: Omit<ListSessionsOptions, 'skip'>,
    policy: LogPolicy,
  ): Promise<readonly string[]>;
  /** As `MessageStore.deadLetterLapsed`, for sessions whose locks have ended recently. */
  deadLetterLapsed(partition: Log, policy: LogPolicy): Promise<boolean>;
}
