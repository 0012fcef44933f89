/** A session and the lock on it, GUID text. */
export interface SessionHandle {
  readonly sessionId: string;
  readonly lockToken: string;
}

/** The lock on a session that was accepted or renewed. */
export interface SessionLock extends SessionHandle {
  /** Epoch ms. */
  readonly lockedUntil: number;
}

/** Options of accepting a session. */
export interface AcceptOptions {
  /** Absent = the next session that is ready. */
  readonly sessionId?: string | undefined;
  /** How long to wait for a ready session, ms. A named session is not waited for. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each attempt, as `ReceiveOptions.beforeAttempt`. An error ends the wait, with nothing locked. */
  readonly beforeAttempt?: (() => Promise<void>) | undefined;
  /** Called when an attempt found no session and the wait goes on. */
  readonly onWait?: (() => void) | undefined;
}

/** Which sessions to list. */
export interface ListSessionsOptions {
  readonly skip: number;
  readonly top: number;
  /** Only sessions whose state was set after this, epoch ms; absent = those with active messages. */
  readonly updatedAfter?: number | undefined;
}
