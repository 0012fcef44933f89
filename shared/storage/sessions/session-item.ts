import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Log } from '../../domain/blocks/log.ts';
import { type SessionRules, TENURE_BYTES, tenureOf } from '../../domain/blocks/session.ts';
import type { Item, Table } from '../dynamodb/table.ts';
import { sessionKey } from '../schema/message-keys.ts';

/**
 * What is known of a session, as an item that exists while somebody holds it, or while it has a state:
 *
 *     k  token of the lock     u  locked until      o  epoch of the lock   t  its tenure
 *     e  its listing           g  generation in which that lies
 *     r  tenures that were given back, one after the other
 *     w  state set at          d  state             p  state's payload   z  its bytes
 *     m  stamp of the last change of the state
 */
export interface Session {
  readonly lock?: SessionLock;
  readonly released: readonly Uint8Array[];
  readonly state?: StatePlace;
}

export interface SessionLock {
  readonly token: Uint8Array;
  /** Epoch ms. */
  readonly lockedUntil: number;
  readonly epoch: number;
  /** Sort key of the listing by which the session is found once the lock has ended. */
  readonly listing: string;
  /** The generation of the log in which that listing lies. */
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

/** What is known of a session now. */
export async function readSession(table: Table, session: Log): Promise<Session> {
  const item = await table.get(sessionKey(session), { consistent: true });
  return item === undefined ? NOTHING : parseSession(item);
}

/** Reads a session's item. */
export function parseSession(item: Item): Session {
  const lock = parseLock(item);
  const state = parseState(item);
  return {
    released: cut(item['r']?.B ?? new Uint8Array()),
    ...(lock === undefined ? {} : { lock }),
    ...(state === undefined ? {} : { state }),
  };
}

function parseLock(item: Item): SessionLock | undefined {
  const token = item['k']?.B;
  if (token === undefined) return undefined;
  return {
    token,
    lockedUntil: Number(item['u']?.N),
    epoch: Number(item['o']?.N),
    listing: item['e']?.S ?? '',
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

function cut(tenures: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: Math.floor(tenures.byteLength / TENURE_BYTES) }, (_, i) =>
    tenures.subarray(i * TENURE_BYTES, (i + 1) * TENURE_BYTES),
  );
}

/** The lock of a session, if it is live: not run out, nor ended by a change of the entity. */
export function liveLock({ lock }: Session, log: Log, now: number): SessionLock | undefined {
  if (lock === undefined || lock.lockedUntil <= now) return undefined;
  return lock.epoch === log.sessions?.epoch ? lock : undefined;
}

/** What holds for the messages of a session. */
export function rulesFrom(session: Session, log: Log, now: number): SessionRules {
  const lock = liveLock(session, log, now);
  const { released } = session;
  if (lock === undefined) return { released };
  return { released, holder: { tenure: tenureOf(lock.token), lockedUntil: lock.lockedUntil } };
}

/** The condition that the lock with this tenure is live, with the values it needs. */
export function whileInTenure(tenure: Uint8Array, log: Log, now: number) {
  const { condition, values } = whileHeld(tenure, log, now);
  return { condition: condition.replace('k = :token', 't = :token'), values };
}

/** The condition that a lock is live, with the values it needs. */
export function whileHeld(token: Uint8Array, log: Log, now: number) {
  return {
    condition: 'k = :token AND u > :now AND o = :epoch',
    values: {
      ':token': { B: token },
      ':now': { N: String(now) },
      ':epoch': { N: String(log.sessions?.epoch ?? 0) },
    } satisfies Record<string, AttributeValue>,
  };
}
