import { BrokerError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import { TAG_BYTES } from './lock-token.ts';

/**
 * The lock of a session holds all its messages, present and future ones, or none (semantics S2).
 * The lock's token is sixteen bytes, shown as a GUID; its last five are its *tenure*, with which the
 * tags of all messages begin that are received under it:
 *
 *     session lock   0–10   random bits     11–15  tenure: entity epoch (1 byte), random bits (4)
 *     message tag    0–4    tenure          5–6    random bits, another for each receive
 */
export const TENURE_BYTES = 5;
export const SESSION_TOKEN_BYTES = 16;

/** Who holds a session, for those who look at its messages. */
export interface SessionRules {
  /** The tenure of the live lock; absent = nobody holds the session. */
  readonly holder?: { readonly tenure: Uint8Array; readonly lockedUntil: number };
  /** Tenures that were given back, latest last: what they left unsettled was no failed delivery. */
  readonly released: readonly Uint8Array[];
}

/** Nobody holds the session, and nobody ever gave it back. */
export const UNHELD: SessionRules = { released: [] };

/**
 * So many tenures that were given back are remembered: the latest, and those under which messages are left.
 * Where more of them left something, the delivery of the earliest counts as failed.
 */
export const RELEASED_MAX = 32;

/** The tenure under a session lock. */
export function tenureOf(token: Uint8Array): Uint8Array {
  return token.subarray(SESSION_TOKEN_BYTES - TENURE_BYTES);
}

/** The GUID text of a session lock. */
export function formatSessionToken(token: Uint8Array): string {
  const hex = Array.from(token, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Reads such a text. Throws SessionLockLost for what no session lock is. */
export function parseSessionToken(text: string): Uint8Array {
  if (!GUID.test(text)) throw sessionLockLost();
  const hex = text.replaceAll('-', '');
  return Uint8Array.from({ length: SESSION_TOKEN_BYTES }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  );
}

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** A fresh session lock: random bits, and the epoch at the head of its tenure. */
export function sessionToken(epoch: number, random: Uint8Array): Uint8Array {
  const token = Uint8Array.from(random.subarray(0, SESSION_TOKEN_BYTES));
  token[SESSION_TOKEN_BYTES - TENURE_BYTES] = epoch & 0xff;
  return token;
}

/** The tag of the messages that one receive takes under a tenure. */
export function tagUnder(tenure: Uint8Array, random: Uint8Array): Uint8Array {
  const tag = new Uint8Array(TAG_BYTES);
  tag.set(tenure);
  tag.set(random.subarray(0, TAG_BYTES - TENURE_BYTES), TENURE_BYTES);
  return tag;
}

/** Whether a message was received under a tenure. */
export function isUnder(tag: Uint8Array, tenure: Uint8Array): boolean {
  return tenure.every((byte, i) => byte === tag[i]);
}

/** Whether a message was received by somebody who has since given the session back. */
export function wasGivenBack(tag: Uint8Array | undefined, session: SessionRules): boolean {
  return tag !== undefined && session.released.some((tenure) => isUnder(tag, tenure));
}

/** The refusal for a session lock that has run out, was given back, or never was. */
export function sessionLockLost(): BrokerError {
  return new BrokerError(
    'SessionLockLost',
    'The session lock has expired on the session, or was given back. Accept the session again.',
  );
}

export function isSessionLockLost(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'SessionLockLost';
}

/** The refusal to hand out messages of an entity that requires sessions without one (semantics #85). */
export function sessionRequired(): BrokerError {
  return new BrokerError(
    'InvalidOperation',
    'It is not possible for an entity that requires sessions to create a non-sessionful message receiver.',
  );
}

/** The refusal of a session where there are none, dead-letter queues among them. */
export function noSessionsHere(): BrokerError {
  return new BrokerError(
    'InvalidOperation',
    'It is not possible for an entity that does not require sessions to create a sessionful message receiver.',
  );
}

/** The refusal for a session that somebody else holds, in the service's own words (semantics #88). */
export function sessionCannotBeLocked(sessionId: string): BrokerError {
  return new BrokerError(
    'SessionCannotBeLocked',
    `The requested session '${sessionId}' cannot be accepted. It may be locked by another receiver.`,
  );
}

/** The refusal of a session's state of so many bytes. */
export function stateTooLarge(bytes: number): BrokerError {
  return new BrokerError(
    'ArgumentError',
    `The session state is ${bytes} bytes long; the limit is ${LIMITS.sessionStateBytes}.`,
    { subCode: '40000' },
  );
}
