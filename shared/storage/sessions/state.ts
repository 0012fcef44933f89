import type { Log } from '../../domain/blocks/log.ts';
import { sessionLockLost } from '../../domain/blocks/session.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { putPayloads } from '../blocks/payloads.ts';
import type { Written } from '../dynamodb/requests.ts';
import { CONFLICT_TRIES_MAX, pauseBeforeRetry } from '../dynamodb/retries.ts';
import { afterStoring, decided, nextTry } from '../dynamodb/unknown-outcome.ts';
import { payloadKey, randomName, sessionKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { readHeld } from './lock.ts';
import { parseSession, whileHeld } from './session-item.ts';

/**
 * The state of a session: bytes that only its holder reads and writes (semantics #95). A small one lies
 * in the session's item, so that lock and state are decided by one condition; a large one in a payload
 * item under a name of its own, which the session's item names once it is there.
 */

/** With a lock, released locks and a long key, the item stays within one write unit. */
const INLINE_BYTES_MAX = 320;
/** Only the holder changes the state, so few tries are enough. */
const TRIES_MAX = 5;

/** The state; undefined where none was set (semantics #96). Throws SessionLockLost. */
export async function state(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<Uint8Array | undefined> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { state: place } = await readHeld(context, session, token);
    if (place?.reference === undefined) return place?.inline;
    const key = payloadKey(session, place.reference, 0);
    const item = await context.table.get(key, { consistent: true });
    // Where it is gone, another call of the holder has just set another one.
    if (item !== undefined) return item['d']?.B ?? new Uint8Array();
  }
  throw sessionLockLost();
}

/** Sets the state, or clears it where `bytes` is undefined. Throws SessionLockLost. */
export async function setState(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
  bytes: Uint8Array | undefined,
): Promise<void> {
  const { table, clock, random, plainSessions } = context;
  const now = clock.now();
  plainSessions.forget(session);
  const isLarge = bytes !== undefined && bytes.byteLength > INLINE_BYTES_MAX;
  const stored: string[] = [];
  const store = async () => {
    if (!isLarge) return undefined;
    const reference = randomName(random);
    await putPayloads(table, session, [{ reference, parts: [bytes] }], now);
    stored.push(reference);
    return reference;
  };
  const discard = (unused: string | undefined) => {
    if (unused === undefined) return;
    context.background(async () => {
      await table.delete(payloadKey(session, unused, 0));
    });
  };
  const { written, reference } = await writeState(context, session, token, { bytes, store });
  // Throws if an earlier try may have taken effect: the session may refer to the stored payload.
  if (!decided(written)) {
    for (const unused of stored) discard(unused);
    throw sessionLockLost();
  }
  if (!written.done || written.item === undefined) return;
  const replaced = parseSession(written.item).state?.reference;
  // After a lost answer, the replaced state is the one that the first try has set.
  for (const unused of new Set([replaced, ...stored])) if (unused !== reference) discard(unused);
}

interface NewState {
  /** Undefined clears the state. */
  readonly bytes: Uint8Array | undefined;
  /** Stores a large state under a new name; undefined if it is small. */
  readonly store: () => Promise<string | undefined>;
}

/**
 * Each state has a stamp, the time or just above the previous stamp, and only replaces a state with a lower one, so
 * that a late copy of an earlier write cannot replace a later state. If the stored stamp is not lower, the state is
 * written again with a higher one: this call is still under way, so it may be the last one. If an earlier try may have
 * taken effect, a large state is stored anew for it, since the call that replaced that state deletes its payload.
 */
async function writeState(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
  { bytes, store }: NewState,
): Promise<{ readonly written: Written; readonly reference: string | undefined }> {
  const now = context.clock.now();
  const { condition, values } = whileHeld(token, session, now);
  let reference = await store();
  let stamp = now;
  let isUncertain = false;
  for (let tries = 0; ; tries++) {
    await nextTry(isUncertain, pauseBeforeRetry(context, tries, CONFLICT_TRIES_MAX));
    const stamped = { ...values, ':stamp': { N: String(stamp) } };
    const writing = context.table.update(sessionKey(session), {
      ConditionExpression: `${condition} AND (attribute_not_exists(m) OR m < :stamp)`,
      ReturnValues: 'ALL_OLD',
      ...change(bytes, reference, stamped),
    });
    const written: Written = await nextTry(isUncertain, writing);
    if (written.done) return { written, reference };
    isUncertain ||= written.isUncertain;
    const refused = { written: { ...written, isUncertain }, reference };
    if (written.old === undefined) return refused;
    const { lock } = parseSession(written.old);
    const isHeld = lock !== undefined && isSameBytes(lock.token, token) && lock.lockedUntil > now;
    const current = Number(written.old['m']?.N ?? 0);
    if (!isHeld || current < stamp) return refused;
    stamp = current + 1;
    if (isUncertain) reference = await afterStoring(store());
  }
}

function change(
  bytes: Uint8Array | undefined,
  reference: string | undefined,
  values: ReturnType<typeof whileHeld>['values'],
) {
  if (bytes === undefined) {
    return {
      UpdateExpression: 'SET m = :stamp REMOVE w, d, p, z',
      ExpressionAttributeValues: values,
    };
  }
  const set = { ...values, ':bytes': { N: String(bytes.byteLength) } };
  if (reference !== undefined) {
    return {
      UpdateExpression: 'SET m = :stamp, w = :now, z = :bytes, p = :reference REMOVE d',
      ExpressionAttributeValues: { ...set, ':reference': { S: reference } },
    };
  }
  return {
    UpdateExpression: 'SET m = :stamp, w = :now, z = :bytes, d = :state REMOVE p',
    ExpressionAttributeValues: { ...set, ':state': { B: bytes } },
  };
}
