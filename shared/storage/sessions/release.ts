import type { Log } from '../../domain/blocks/log.ts';
import { isUnder, RELEASED_MAX, sessionLockLost, tenureOf } from '../../domain/blocks/session.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { afterStoring, unknownOutcome } from '../dynamodb/errors.ts';
import { orLookedUp } from '../dynamodb/look-up.ts';
import type { Written } from '../dynamodb/table.ts';
import { AFTER_ALL_STORES, FIRST_BLOCK, logName, sessionKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { isSame, readHeld } from './lock.ts';
import { deleteLockListing, enlist } from './ready-index.ts';
import { liveLock, parseSession, readSession, type Session, whileHeld } from './session-item.ts';

/** Giving sessions back. */

/**
 * Gives a session back. First it is let go, then looked at: a sender looks in the opposite order, so one
 * of the two lists what came in between. Throws SessionLockLost.
 */
export async function release(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<void> {
  const known = await readHeld(context, session, token);
  const { lock } = known;
  const { written, isForgotten } = await letGo(context, session, known, token);
  requireGone(written, session, token, context);
  await afterStoring(enlistWhatIsLeft(context, session, isForgotten ? tenureOf(token) : undefined));
  if (lock !== undefined) {
    context.background(() => deleteLockListing(context, session, lock));
  }
}

/** `forgotten` = a tenure that is remembered nowhere; something may have come, and have been received, since. */
async function enlistWhatIsLeft(
  context: StoreContext,
  session: Log,
  forgotten: Uint8Array | undefined,
): Promise<void> {
  const { blocks } = await readBlocks(context, session, {
    from: FIRST_BLOCK,
    limit: 1,
    consistent: true,
  });
  if (blocks.length === 0) return;
  await Promise.all([
    enlist(context, [session], new Map([[logName(session), UNKNOWN]])),
    forgotten === undefined ? undefined : rememberAgain(context, session, forgotten),
  ]);
}

async function rememberAgain(
  { table }: StoreContext,
  session: Log,
  tenure: Uint8Array,
): Promise<void> {
  await table.update(sessionKey(session), {
    UpdateExpression: 'SET r = :released',
    ConditionExpression: 'attribute_not_exists(r)',
    ExpressionAttributeValues: { ':released': { B: tenure } },
  });
}

/**
 * Whether a session is given back. Where nothing was heard of that, its item tells: without this lock it is,
 * by whichever way. Throws SessionLockLost, ServiceTimeout.
 */
function requireGone(
  written: Written,
  session: Log,
  token: Uint8Array,
  { clock }: StoreContext,
): void {
  if (written.done) return;
  if (!written.isRepeated) throw sessionLockLost();
  const lock = written.old && liveLock(parseSession(written.old), session, clock.now());
  if (lock !== undefined && isSame(lock.token, token)) throw unknownOutcome();
}

/**
 * Ends the lock of a holder to whom nothing more can be handed out in order. What it did not settle comes to
 * the next holder, and was no failed delivery.
 */
export async function endSession(
  context: StoreContext,
  session: Log,
  tenure: Uint8Array,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const { lock } = await readSession(context.table, session);
      if (lock === undefined || !isSame(tenureOf(lock.token), tenure)) {
        // A try before this one may have ended the lock, and not come to listing the session.
        if (tries > 1) await enlist(context, [session]);
        return;
      }
      return await release(context, session, lock.token);
    } catch (error) {
      const isOver = error instanceof BrokerError && error.code === 'SessionLockLost';
      if (isOver) return;
      if (tries === END_TRIES_MAX) throw error;
    }
  }
}

/** How often the end of a lock is tried of which nothing is heard. */
const END_TRIES_MAX = 3;

/** Held by nobody, as far as is known: list it without another look. */
const UNKNOWN: Session = { released: [] };

/**
 * Lets a session go. What its holder left, or is just receiving, was no failed delivery: its tenure is
 * remembered, unless nothing at all is known of the session; `isForgotten` = it was not.
 */
async function letGo(
  context: StoreContext,
  session: Log,
  known: Session,
  token: Uint8Array,
): Promise<{ readonly written: Written; readonly isForgotten: boolean }> {
  const { table, clock } = context;
  const isBareNow = known.state === undefined && (await isBare(context, session));
  const { condition, values } = whileHeld(token, session, clock.now());
  if (isBareNow) {
    const written = await orLookedUp(
      table,
      sessionKey(session),
      table.delete(sessionKey(session), {
        ConditionExpression: `${condition} AND attribute_not_exists(w)`,
        ExpressionAttributeValues: values,
      }),
    );
    if (written.done || written.isRepeated) return { written, isForgotten: true };
  }
  const released = await remembered(context, session, [...known.released, tenureOf(token)]);
  const releasing = table.update(sessionKey(session), {
    UpdateExpression: 'SET r = :released REMOVE k, t, u, o, e, g',
    ConditionExpression: condition,
    ExpressionAttributeValues: { ...values, ':released': { B: Buffer.concat(released) } },
  });
  return { written: await orLookedUp(table, sessionKey(session), releasing), isForgotten: false };
}

/** The latest are remembered in any case: a claim under them may still be on its way. */
const LATEST_TENURES = 8;
/** So many blocks of a session are looked at for what earlier holders left. */
const LEFT_BLOCKS_MAX = 100;

/** Of tenures that were given back, the latest last, those to remember; reads only where they are too many. */
async function remembered(
  context: StoreContext,
  session: Log,
  tenures: readonly Uint8Array[],
): Promise<readonly Uint8Array[]> {
  if (tenures.length <= RELEASED_MAX) return tenures;
  const { blocks, next } = await readBlocks(context, session, {
    from: FIRST_BLOCK,
    to: AFTER_ALL_STORES,
    limit: LEFT_BLOCKS_MAX,
    consistent: true,
  });
  const tags = blocks.flatMap(({ slots }) => [...slots.values()].flatMap(({ tag }) => tag ?? []));
  const hasLeft = (tenure: Uint8Array) => tags.some((tag) => isUnder(tag, tenure));
  const earlier = tenures.slice(0, -LATEST_TENURES);
  // What was not looked at may be of any of them.
  const others = next === undefined ? [] : earlier.filter((tenure) => !hasLeft(tenure));
  const kept = [...others, ...earlier.filter(hasLeft), ...tenures.slice(-LATEST_TENURES)];
  return kept.slice(-RELEASED_MAX);
}

/** Whether a session has no messages at all, in whatever state. */
export async function isBare(context: StoreContext, session: Log): Promise<boolean> {
  const { blocks } = await readBlocks(context, session, {
    from: FIRST_BLOCK,
    to: AFTER_ALL_STORES,
    limit: 1,
    consistent: true,
  });
  return blocks.length === 0;
}
