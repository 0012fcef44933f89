import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import { LOCK_ID_BYTES, lockIdOf, type SessionLockState } from '../../domain/blocks/session.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ItemRequests } from '../dynamodb/item-requests.ts';
import { type Item, keyOfItem, type Table } from '../dynamodb/table.ts';
import { sessionKey, sessionOf } from '../schema/message-keys.ts';

/**
 * A session as an item, which exists while the session has a holder, released locks or a state:
 *
 *     k  token of the lock     u  locked until      o  epoch of the lock   t  its id
 *     e  its index entry       g  generation of the log with that entry
 *     r  ids of released locks, one after the other
 *     w  state set at          d  state             p  state's payload   z  its bytes
 *     m  stamp of the last change of the state
 */
export interface Session {
  readonly lock?: StoredSessionLock;
  readonly released: readonly Uint8Array[];
  readonly state?: StatePlace;
}

/** The lock of a session, live or not. */
export interface StoredSessionLock {
  readonly token: Uint8Array;
  /** Epoch ms. */
  readonly lockedUntil: number;
  readonly epoch: number;
  /** Sort key of the index entry by which the session is found once the lock has ended. */
  readonly entryKey: string;
  /** The generation of the log whose index has that entry. */
  readonly generation: number;
}

/** Where a state lies: in the session's item, or in a payload item. */
export interface StatePlace {
  /** Epoch ms. */
  readonly setAt: number;
  readonly bytes: number;
  readonly inline?: Uint8Array;
  readonly reference?: string;
}

const NOTHING: Session = { released: [] };

/** Reads a session. One read unit. */
export async function readSession(
  { items }: { readonly items: ItemRequests },
  session: Log,
): Promise<Session> {
  const item = await items.get(sessionKey(session));
  return item === undefined ? NOTHING : parseSession(item);
}

/** The states of the locks of some sessions of a partition, by id. One read unit for each that has an item. */
export async function lockStatesOf(
  { table, clock }: { readonly table: Table; readonly clock: Clock },
  partition: Log,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, SessionLockState>> {
  const keys = Array.from(new Set(sessionIds), (id) => sessionKey(logOfSession(partition, id)));
  const items = await table.getMany(keys, { consistent: true });
  const now = clock.now();
  return new Map(
    items.map((item) => [
      sessionOf(keyOfItem(item).sk) ?? '',
      toLockState(parseSession(item), partition, now),
    ]),
  );
}

/** Parses a session's item. */
export function parseSession(item: Item): Session {
  const lock = parseLock(item);
  const state = parseState(item);
  return {
    released: cut(item['r']?.B ?? new Uint8Array()),
    ...(lock === undefined ? {} : { lock }),
    ...(state === undefined ? {} : { state }),
  };
}

function parseLock(item: Item): StoredSessionLock | undefined {
  const token = item['k']?.B;
  if (token === undefined) return undefined;
  return {
    token,
    lockedUntil: Number(item['u']?.N),
    epoch: Number(item['o']?.N),
    entryKey: item['e']?.S ?? '',
    generation: Number(item['g']?.N),
  };
}

function parseState(item: Item): StatePlace | undefined {
  const setAt = item['w']?.N;
  if (setAt === undefined) return undefined;
  const inline = item['d']?.B;
  const reference = item['p']?.S;
  return {
    setAt: Number(setAt),
    bytes: Number(item['z']?.N ?? 0),
    ...(inline === undefined ? {} : { inline }),
    ...(reference === undefined ? {} : { reference }),
  };
}

function cut(lockIds: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: Math.floor(lockIds.byteLength / LOCK_ID_BYTES) }, (_, i) =>
    lockIds.subarray(i * LOCK_ID_BYTES, (i + 1) * LOCK_ID_BYTES),
  );
}

/**
 * The lock of a session if it is live: it has not expired, and no change of the entity has ended it (semantics S4). One
 * of a later epoch is live, too: this process may have read the entity before its holder did.
 */
export function liveLock({ lock }: Session, log: Log, now: number): StoredSessionLock | undefined {
  if (lock === undefined || lock.lockedUntil <= now) return undefined;
  const { epoch } = log.sessions ?? {};
  return epoch !== undefined && lock.epoch >= epoch ? lock : undefined;
}

/** The state of a session's lock at `now`, as its item shows it. */
export function toLockState(session: Session, log: Log, now: number): SessionLockState {
  const lock = liveLock(session, log, now);
  const { released } = session;
  if (lock === undefined) return { released };
  return { released, holder: { lockId: lockIdOf(lock.token), lockedUntil: lock.lockedUntil } };
}

/** The condition that the session lock with this id is live, with the values it needs. */
export function whileLockedUnder(lockId: Uint8Array, log: Log, now: number) {
  const { condition, values } = whileHeld(lockId, log, now);
  return { condition: condition.replace('k = :token', 't = :token'), values };
}

/** The condition that a lock is live, with the values it needs. */
export function whileHeld(token: Uint8Array, log: Log, now: number) {
  return {
    condition: 'k = :token AND u > :now AND o >= :epoch',
    values: {
      ':token': { B: token },
      ':now': { N: String(now) },
      ':epoch': { N: String(log.sessions?.epoch ?? 0) },
    } satisfies Record<string, AttributeValue>,
  };
}
