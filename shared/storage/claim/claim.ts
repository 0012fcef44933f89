import type { ReceivedMessage } from '../../broker/broker.ts';
import type { ClaimRequest } from '../../broker/ports/messages.ts';
import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import { isUnknownOutcome, othersWereFaster, unknownOutcome } from '../../domain/broker-error.ts';
import { resultOf } from '../../domain/result-of.ts';
import { activateDue } from '../scheduling/activate.ts';
import { logKey, logName } from '../schema/message-keys.ts';
import { endSession } from '../sessions/release.ts';
import { cleanUp } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import { chooseAllowed, countOf, giveBack, leaveToOthers } from './allowed.ts';
import { letGo, type Scan, type ScanRequest, type Target } from './choice.ts';
import { lockEnd, type Receive } from './claim-blocks.ts';
import { scan } from './scan.ts';
import { lockAll, removeAll } from './take-all.ts';

/** Scans of one receive, the first included; another one follows if it lost every race. */
const SCANS_MAX = 6;
/**
 * After this long, ms, a receive looks again although claims of this process still hold messages back: other processes
 * may have sent some. After so many looks it cannot tell whether there is a free one.
 */
const HELD_BACK = { msMax: 500, looksMax: 40 };
/** How often it chooses among the messages of one scan. */
const CHOICES_MAX = 2;

/**
 * Claims messages at the front of a log and returns them: usually one query, one conditional write for each block,
 * and one batch of gets for payloads. Expired messages and those without deliveries left are moved or removed before
 * the answer (semantics #48). An empty answer means that a scan saw no free message (semantics #15); a receive that
 * loses every race scans again and chooses among more messages each time. Throws ServiceBusy if it loses them all, and
 * MessageSizeExceeded if the first message fits in no answer.
 */
export async function claim(
  context: StoreContext,
  log: Log,
  request: ClaimRequest,
): Promise<readonly ReceivedMessage[]> {
  const looks = { lost: 0, undecided: 0 };
  while (looks.lost < SCANS_MAX && looks.undecided < HELD_BACK.looksMax) {
    const messages = await scanAndClaim(context, log, request);
    if (typeof messages !== 'string') return messages;
    looks[messages]++;
  }
  throw othersWereFaster();
}

/**
 * 'lost' = there were free messages, but other receivers took them; 'undecided' = claims of this process hold messages
 * back.
 */
async function scanAndClaim(
  context: StoreContext,
  log: Log,
  request: ClaimRequest,
): Promise<readonly ReceivedMessage[] | 'lost' | 'undecided'> {
  const leftBefore = context.scanHints.leftAt(logName(log));
  const lookedAt = context.clock.now();
  const locks = request.mode === 'peekLock' ? { lockedUntil: lockEnd(request, lookedAt) } : {};
  const found = await find(context, log, { ...request, ...locks }, lookedAt);
  if (found.targets.length > 0) await request.waitForTurn?.();
  const { isFromMemory } = found;
  const tried = { blocks: 0 };
  const receive = { context, log, request, now: context.clock.now(), isFromMemory, tried };
  let { targets } = found;
  for (let choices = 0; targets.length > 0 && choices < CHOICES_MAX; choices++) {
    if (request.isWanted?.() === false) {
      leaveToOthers(context, log, targets);
      return [];
    }
    const { messages, asked } = await claimFrom(receive, targets);
    if (messages.length > 0 || asked === 0) {
      await cleanUpLeftovers(receive, found.leftovers, messages.length > 0);
      return messages;
    }
    // In a session, messages after those that were not claimed may not be taken.
    targets = request.rules.session === undefined ? found.chooseOthers() : [];
  }
  for (const { reservation } of targets) reservation.end(false);
  await cleanUpLeftovers(receive, found.leftovers, false);
  if (found.targets.length > 0) return 'lost';
  // Other receives of this process may fail to claim what they chose.
  const tooLong = (over: () => void) => context.scheduler.after(HELD_BACK.msMax, over);
  const areTaken = await context.scanHints.areAllTaken(logName(log), leftBefore, tooLong);
  if (areTaken === true || request.isWanted?.() === false) return [];
  return areTaken === false ? 'lost' : areTaken;
}

/** Claims the chosen messages; `asked` = how many it tried to claim, some of which other receivers may have taken. */
async function claimFrom(
  receive: Receive,
  targets: readonly Target[],
): Promise<{ readonly messages: readonly ReceivedMessage[]; readonly asked: number }> {
  const { context, log, request } = receive;
  const name = logName(log);
  const allowed = await chooseAllowed(receive, targets);
  const asked = countOf(allowed);
  const before = receive.tried.blocks;
  let got = 0;
  try {
    const messages =
      request.mode === 'peekLock'
        ? await lockAll(receive, allowed)
        : await removeAll(receive, allowed);
    got = messages.length;
    if (got > 0) context.spread.won(name);
    else if (receive.tried.blocks > before && !receive.isFromMemory) {
      context.spread.lost(name);
    }
    return { messages, asked };
  } catch (error) {
    context.scanHints.invalidate(name);
    throw await endedFor(receive, error);
  } finally {
    giveBack(request.allowance, allowed, got);
    letGo(context, log, targets);
  }
}

/**
 * The error to throw after a failed claim. In a session, a claim with an unknown outcome may have locked messages
 * that the next receive under the same session lock would skip, so the session's lock ends.
 */
async function endedFor({ context, log, request }: Receive, error: unknown): Promise<unknown> {
  const holder = request.rules.session?.holder;
  if (holder === undefined || !isUnknownOutcome(error)) return error;
  const ended = await resultOf(endSession(context, log, holder.lockId));
  // That write may have an unknown outcome too; then the lock ends by time, and the sweep finds the messages.
  return 'error' in ended ? unknownOutcome(ended.error) : error;
}

/** Cleans up the leftovers. Throws a failure only if there are no claimed messages that the error would lose. */
async function cleanUpLeftovers(
  { context, log, request }: Receive,
  leftovers: Scan['leftovers'],
  hasMessages: boolean,
): Promise<void> {
  const outcome = await resultOf(cleanUp(context, log, request, leftovers));
  if (!('error' in outcome)) return;
  if (!hasMessages) throw outcome.error;
  context.background(() => Promise.reject(outcome.error));
}

/** Activates scheduled messages that have come due, and scans the log. */
async function find(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
): Promise<Scan> {
  const whole = withoutSession(log);
  if (context.dueTimes.isDue(logKey(whole), now) !== 'unknown') {
    await activateDue(context, whole, now);
    return await scan(context, log, request);
  }
  // Usually nothing is due, so the scan does not wait for the activation.
  const [activation, scanned] = await Promise.all([
    resultOf(activateDue(context, whole, now)),
    resultOf(scan(context, log, request)),
  ]);
  if ('error' in scanned) throw scanned.error;
  const { value: found } = scanned;
  if ('error' in activation) {
    // The messages that the scan chose must not stay reserved, nor be hidden by its hint.
    leaveToOthers(context, log, found.targets);
    throw activation.error;
  }
  if (!activation.value || countOf(found.targets) >= request.maxMessages) return found;
  // The scan may have missed messages that came due just now.
  leaveToOthers(context, log, found.targets);
  return await scan(context, log, request);
}
