import { argumentError, BrokerError, invalidOperation } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import { TAG_BYTES } from './lock-token.ts';

/**
 * A session lock locks all messages of the session, present and future (semantics S2). Its token has sixteen
 * bytes, written as a GUID. The last five bytes are the lock id. The lock tag of every message that is
 * received under the session lock begins with that id:
 *
 *     session lock   0–10   random bytes    11–15  lock id: entity epoch (1 byte), random bytes (4)
 *     message tag    0–4    lock id         5–6    random bytes, new for each receive
 */
export const LOCK_ID_BYTES = 5;
export const SESSION_TOKEN_BYTES = 16;

/** The state of a session's lock, which decides whether its messages are locked. */
export interface SessionLockState {
  /** The live session lock; absent = the session is not locked. `lockedUntil` is epoch ms. */
  readonly holder?: { readonly lockId: Uint8Array; readonly lockedUntil: number };
  /** Ids of released locks, latest last. A delivery under one of them that was not settled did not fail. */
  readonly released: readonly Uint8Array[];
}

/** A session that is not locked and whose locks were never released. */
export const UNLOCKED_SESSION: SessionLockState = { released: [] };

/**
 * How many ids of released locks a session keeps: the latest, and those under which unsettled messages are
 * left. If more released locks left messages, the deliveries under the earliest count as failed.
 */
export const RELEASED_MAX = 32;

/** The lock id in a session lock's token. */
export function lockIdOf(token: Uint8Array): Uint8Array {
  return token.subarray(SESSION_TOKEN_BYTES - LOCK_ID_BYTES);
}

/** Writes the token of a session lock as GUID text. */
export function formatSessionToken(token: Uint8Array): string {
  const hex = Array.from(token, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Reads the GUID text of a session lock, in any case. Throws SessionLockLost for another text. */
export function parseSessionToken(text: string): Uint8Array {
  if (!GUID.test(text)) throw sessionLockLost();
  const hex = text.replaceAll('-', '');
  return Uint8Array.from({ length: SESSION_TOKEN_BYTES }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  );
}

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * Makes the token of a session lock: 16 bytes of `random`, with the entity's epoch as first byte of the lock
 * id.
 */
export function sessionToken(epoch: number, random: Uint8Array): Uint8Array {
  const token = Uint8Array.from(random.subarray(0, SESSION_TOKEN_BYTES));
  token[SESSION_TOKEN_BYTES - LOCK_ID_BYTES] = epoch & 0xff;
  return token;
}

/** Makes the lock tag of the messages of one receive under a session lock. */
export function sessionLockTag(lockId: Uint8Array, random: Uint8Array): Uint8Array {
  const tag = new Uint8Array(TAG_BYTES);
  tag.set(lockId);
  tag.set(random.subarray(0, TAG_BYTES - LOCK_ID_BYTES), LOCK_ID_BYTES);
  return tag;
}

/** Whether the message with this lock tag was received under the session lock with this id. */
export function isOfSessionLock(tag: Uint8Array, lockId: Uint8Array): boolean {
  return lockId.every((byte, i) => byte === tag[i]);
}

/** Whether a message was received under a session lock that was released since. */
export function wasReleased(tag: Uint8Array | undefined, session: SessionLockState): boolean {
  return tag !== undefined && session.released.some((lockId) => isOfSessionLock(tag, lockId));
}

/** SessionLockLost: the session lock has expired, was released or never existed. */
export function sessionLockLost(): BrokerError {
  return new BrokerError(
    'SessionLockLost',
    'The session lock has expired on the session, or was released. Accept the session again.',
  );
}

/** Whether an error is SessionLockLost. */
export function isSessionLockLost(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'SessionLockLost';
}

/** InvalidOperation: a receiver without a session on an entity that requires sessions (semantics #85). */
export function sessionRequired(): BrokerError {
  return invalidOperation(
    'It is not possible for an entity that requires sessions to create a non-sessionful message receiver.',
  );
}

/**
 * InvalidOperation: a session receiver on an entity or sub-queue without sessions, such as a dead-letter queue
 * (semantics #86).
 */
export function sessionsNotSupported(): BrokerError {
  return invalidOperation(
    'It is not possible for an entity that does not require sessions to create a sessionful message receiver.',
  );
}

/** SessionCannotBeLocked: another receiver holds the session. The sentence is that of Service Bus. */
export function sessionCannotBeLocked(sessionId: string): BrokerError {
  return new BrokerError(
    'SessionCannotBeLocked',
    `The requested session '${sessionId}' cannot be accepted. It may be locked by another receiver.`,
  );
}

/** ArgumentError: a session state of `bytes` bytes is too large. */
export function stateTooLarge(bytes: number): BrokerError {
  return argumentError(
    `The session state is ${bytes} bytes long; the limit is ${LIMITS.sessionStateBytes}.`,
  );
}
