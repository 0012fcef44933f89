import type { Log } from '../../domain/log.ts';
import { sessionLockLost } from '../../domain/session.ts';
import { payloadName } from '../append.ts';
import { decided } from '../failures.ts';
import { payloadKey, sessionKey } from '../keys.ts';
import { putPayload } from '../payloads.ts';
import type { StoreContext } from '../store-context.ts';
import { readHeld } from './lock.ts';
import { parseSession, whileHeld } from './session-item.ts';

/**
 * The state of a session: bytes that only its holder reads and writes (semantics §4.7). A small one lies
 * in the session's item, so that lock and state are decided by one condition; a large one in a payload
 * item under a name of its own, which the session's item names once it is there.
 */

/** With a lock, what was given back, and a key of some length, the item stays within one unit. */
const INLINE_BYTES_MAX = 320;
/** The holder alone changes the state; nobody looks in vain for long. */
const TRIES_MAX = 5;

/** The state; undefined where none was set. Throws SessionLockLost. */
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
  const { table, clock, random } = context;
  const now = clock.now();
  const isLarge = bytes !== undefined && bytes.byteLength > INLINE_BYTES_MAX;
  const reference = isLarge ? payloadName(random) : undefined;
  if (reference !== undefined && bytes !== undefined) {
    await putPayload(table, session, [{ reference, parts: [bytes] }], now);
  }
  const { condition, values } = whileHeld(token, session, now);
  const written = await table.update(sessionKey(session), {
    ConditionExpression: condition,
    ReturnValues: 'ALL_OLD',
    ...change(bytes, reference, values),
  });
  const discard = (unused: string | undefined) => {
    if (unused === undefined) return;
    context.background(async () => {
      await table.delete(payloadKey(session, unused, 0));
    });
  };
  // Throws where an earlier try may have been carried out: then the session may name what was stored.
  if (!decided(written)) {
    discard(reference);
    throw sessionLockLost();
  }
  if (!written.done || written.item === undefined) return;
  const replaced = parseSession(written.item).state?.reference;
  // An answer that was lost comes with the state that the first try has set.
  if (replaced !== reference) discard(replaced);
}

function change(
  bytes: Uint8Array | undefined,
  reference: string | undefined,
  values: ReturnType<typeof whileHeld>['values'],
) {
  if (bytes === undefined) {
    return { UpdateExpression: 'REMOVE w, d, p, z', ExpressionAttributeValues: values };
  }
  const set = { ...values, ':bytes': { N: String(bytes.byteLength) } };
  if (reference !== undefined) {
    return {
      UpdateExpression: 'SET w = :now, z = :bytes, p = :reference REMOVE d',
      ExpressionAttributeValues: { ...set, ':reference': { S: reference } },
    };
  }
  return {
    UpdateExpression: 'SET w = :now, z = :bytes, d = :state REMOVE p',
    ExpressionAttributeValues: { ...set, ':state': { B: bytes } },
  };
}
