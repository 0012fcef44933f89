import type { ClaimRequest, ReceivedMessage } from '../../broker/ports/messages.ts';
import { slotOf } from '../../domain/blocks/block.ts';
import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import { claimed, deliveriesOf, failedDeliveries, type Slot } from '../../domain/blocks/slot.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { holdPayloads } from '../../domain/messages/payload-account.ts';
import { type LoadedMessages, loadMessages } from '../blocks/payloads.ts';
import { sortKeyOf } from '../blocks/read-blocks.ts';
import { isUnknownOutcome, unknownOutcome } from '../dynamodb/errors.ts';
import { outcomeOf } from '../dynamodb/outcome-of.ts';
import { activateDue } from '../scheduling/activate.ts';
import { logKey, logName } from '../schema/message-keys.ts';
import { endSession } from '../sessions/release.ts';
import { tidy } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import { allowedOf, countOf, giveBack, leaveToOthers, passedOver } from './allowed.ts';
import { answerable, type SizedTarget } from './answer-size.ts';
import type { Scan, ScanRequest, Target } from './choice.ts';
import { type Claimed, eachOf, lockEnd, newTag, type Receive, take } from './claim-blocks.ts';
import { messageSeen, tokenOf } from './received-message.ts';
import { scan } from './scan.ts';

/** How often a receive reads a log whose messages others were faster to get. */
const SCANS_MAX = 6;
/** How often it chooses among the messages of one reading. */
const CHOICES_MAX = 2;

/**
 * Hands out messages of a log: one query from its front, one conditional write for each block, one
 * batch of gets for payloads. What is found expired or used up on the way is put where it belongs
 * before the answer. Nothing is handed out only where a look saw nothing that could be had: a receive
 * that loses every race looks again, and chooses among more messages each time. Throws ServiceBusy where
 * it loses them all.
 */
export async function claim(
  context: StoreContext,
  log: Log,
  request: ClaimRequest,
): Promise<readonly ReceivedMessage[]> {
  for (let scans = 0; scans < SCANS_MAX; scans++) {
    const messages = await scanAndClaim(context, log, request);
    if (messages !== undefined) return messages;
  }
  throw new BrokerError(
    'ServiceBusy',
    'Other receivers were faster to get each message that this receive chose. Try again.',
    { subCode: '50009' },
  );
}

/** Undefined = there was something, and others were faster. */
async function scanAndClaim(
  context: StoreContext,
  log: Log,
  request: ClaimRequest,
): Promise<readonly ReceivedMessage[] | undefined> {
  const lookedAt = context.clock.now();
  const locks = request.mode === 'peekLock' ? { lockedUntil: lockEnd(request, lookedAt) } : {};
  const found = await find(context, log, { ...request, ...locks }, lookedAt);
  if (found.targets.length > 0) await request.turn?.();
  const receive = { context, log, request, now: context.clock.now() };
  let { targets } = found;
  for (let choices = 0; targets.length > 0 && choices < CHOICES_MAX; choices++) {
    if (request.isWanted?.() === false) {
      leaveToOthers(context, log, targets);
      return [];
    }
    const { messages, asked } = await claimFrom(receive, targets);
    if (messages.length > 0 || asked === 0) {
      await tidyBehind(receive, found.leftovers, messages.length > 0);
      return messages;
    }
    // In a session nothing may be taken behind what was not got.
    targets = request.rules.session === undefined ? found.chooseOthers() : [];
  }
  for (const { reservation } of targets) reservation.release();
  await tidyBehind(receive, found.leftovers, false);
  if (found.targets.length > 0) return undefined;
  // What others of this process have chosen they may fail to get.
  return (await context.fronts.areAllTaken(logName(log))) ? [] : undefined;
}

/** Claims what was chosen; `asked` = how many messages, of which others may have been faster to get. */
async function claimFrom(
  receive: Receive,
  targets: readonly Target[],
): Promise<{ readonly messages: readonly ReceivedMessage[]; readonly asked: number }> {
  const { context, log, request } = receive;
  const name = logName(log);
  const allowed = await chooseAllowed(receive, targets);
  const asked = countOf(allowed);
  let got = 0;
  try {
    const { messages, lost } =
      request.mode === 'peekLock'
        ? await lockAll(receive, allowed)
        : await removeAll(receive, allowed);
    got = messages.length;
    if (got > 0) context.spread.won(name);
    else if (asked > 0) context.spread.lost(name);
    const left = passedOver(targets, allowed).map(({ block }) => sortKeyOf(block));
    context.fronts.reopen(name, [...lost, ...left]);
    return { messages, asked };
  } catch (error) {
    context.fronts.forget(name);
    throw await endedFor(receive, error);
  } finally {
    giveBack(request.allowance, allowed, got);
    for (const { reservation } of targets) reservation.release();
  }
}

/** As much of what was chosen as the answer can carry, and as other claims of the same receive have left. */
async function chooseAllowed(
  receive: Receive,
  targets: readonly Target[],
): Promise<readonly SizedTarget[]> {
  try {
    const sized = await answerable(receive, targets);
    const allowed = allowedOf(sized, receive.request.allowance);
    holdAllowed(receive, allowed);
    // Receives beside this one learn at once that something of these stays free.
    for (const target of passedOver(targets, allowed)) target.reservation.settle(false);
    return allowed;
  } catch (error) {
    leaveToOthers(receive.context, receive.log, targets);
    throw error;
  }
}

/** Counts what is large of it. Where there is no room for that, it is left to claims of other logs. */
function holdAllowed(
  { log, request: { payloads, allowance } }: Receive,
  allowed: readonly SizedTarget[],
): void {
  const blocks = allowed.map(({ block }) => block);
  try {
    holdPayloads(payloads, log, blocks);
  } catch (error) {
    giveBack(allowance, allowed, 0);
    throw error;
  }
}

/**
 * What a claim failed with. In a session whose claim may have been carried out unheard, the next receive
 * under the same lock would pass over its messages: the lock of the session ends.
 */
async function endedFor({ context, log, request }: Receive, error: unknown): Promise<unknown> {
  const holder = request.rules.session?.holder;
  if (holder === undefined || !isUnknownOutcome(error)) return error;
  const ended = await outcomeOf(endSession(context, log, holder.tenure));
  // It may have been unheard as well; the sweep and the end of the lock find what is left.
  return 'error' in ended ? unknownOutcome(ended.error) : error;
}

/** Tidies; a failure is thrown only where there is nothing to hand out that it would lose. */
async function tidyBehind(
  { context, log, request }: Receive,
  leftovers: Scan['leftovers'],
  hasMessages: boolean,
): Promise<void> {
  const outcome = await outcomeOf(tidy(context, log, request, leftovers));
  if (!('error' in outcome)) return;
  if (!hasMessages) throw outcome.error;
  context.background(() => Promise.reject(outcome.error));
}

/** Scans the log, after scheduled messages that have come due were put into it. */
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
  // Mostly nothing is due: do not wait to hear it.
  const [activation, scanned] = await Promise.all([
    outcomeOf(activateDue(context, whole, now)),
    outcomeOf(scan(context, log, request)),
  ]);
  if ('error' in scanned) throw scanned.error;
  const { value: found } = scanned;
  if ('error' in activation) {
    // What the scan chose must not stay reserved, nor be passed over.
    leaveToOthers(context, log, found.targets);
    throw activation.error;
  }
  if (!activation.value || countOf(found.targets) >= request.maxMessages) return found;
  // What has just come due was perhaps not there yet.
  leaveToOthers(context, log, found.targets);
  return await scan(context, log, request);
}

interface Claims {
  readonly messages: readonly ReceivedMessage[];
  /** Sort keys of blocks in which others were faster. */
  readonly lost: readonly string[];
}

/** Peek-lock: the write that locks comes first, so that nobody reads bodies in vain. */
async function lockAll(receive: Receive, targets: readonly Target[]): Promise<Claims> {
  const { context, log, request, now } = receive;
  const tag = newTag(context, request.rules);
  const taken = await eachOf(receive, targets, async (target, inTurn) => {
    const lockedUntil = lockEnd(request, inTurn.now);
    const change = (slot: Slot) => claimed(slot, tag, lockedUntil, request.rules);
    const got = await take(inTurn, target, change, tag);
    return got === undefined ? undefined : { ...got, lockedUntil };
  });
  const claims = taken.filter((claim) => claim !== undefined);
  noteLastDeliveries(receive, claims);
  const loaded = await loadClaimed(receive, claims);
  // Where a body is gone, this process was held up so long that others have had the message since.
  const live = claims.filter(({ block }) => loaded.has(block));
  const messages = live.flatMap(({ block, slots, lockedUntil }) =>
    slots.map((number) => {
      const slot = slotOf(block, number);
      return {
        ...messageSeen(log, block, number, loaded.at(block, number), request.rules),
        failedDeliveries: failedDeliveries(slot, request.rules, now),
        lockToken: tokenOf(log, block, number, tag),
        lockedUntil,
      };
    }),
  );
  return { messages: messages.sort(bySequenceNumber), lost: lostOf(targets, taken) };
}

/** The messages of locked blocks. In a session they are locked to a holder who may never see them. */
async function loadClaimed(
  { context, log, request }: Receive,
  claims: readonly Claimed[],
): Promise<LoadedMessages> {
  try {
    const blocks = claims.map(({ block }) => block);
    return await loadMessages(context, log, blocks);
  } catch (error) {
    throw request.rules.session === undefined ? error : unknownOutcome(error);
  }
}

/**
 * A lock on a last delivery that runs out makes a dead letter, though nobody may be there to see it:
 * the sweep is told when to look.
 */
function noteLastDeliveries(
  { context, log, request: { rules } }: Receive,
  claims: readonly (Claimed & { readonly lockedUntil: number })[],
): void {
  if (rules.isDeadLetter) return;
  const last = claims.filter(({ block, slots }) =>
    slots.some((number) => deliveriesOf(slotOf(block, number), rules) >= rules.maxDeliveryCount),
  );
  if (last.length === 0) return;
  const lockedUntil = Math.max(...last.map((claim) => claim.lockedUntil));
  context.background(() => context.noteWork(log, lockedUntil));
}

/** Receive-and-delete: bodies are read first, so that a failed read loses nothing. */
async function removeAll(receive: Receive, targets: readonly Target[]): Promise<Claims> {
  const { context, log, request } = receive;
  const loaded = await loadMessages(
    context,
    log,
    targets.map(({ block }) => block),
  );
  // Where the body is gone, somebody else has had the message meanwhile.
  const taken = await eachOf(receive, targets, async (target, inTurn) => {
    const got = loaded.has(target.block) ? await take(inTurn, target, undefined) : undefined;
    return got && { ...got, now: inTurn.now };
  });
  context.gauge.left(log);
  const messages = taken.flatMap((claim) =>
    claim === undefined
      ? []
      : claim.slots.map((number) => ({
          ...messageSeen(log, claim.block, number, loaded.at(claim.block, number), request.rules),
          failedDeliveries: failedDeliveries(slotOf(claim.block, number), request.rules, claim.now),
        })),
  );
  return { messages: messages.sort(bySequenceNumber), lost: lostOf(targets, taken) };
}

function bySequenceNumber(a: ReceivedMessage, b: ReceivedMessage): number {
  return a.sequenceNumber < b.sequenceNumber ? -1 : 1;
}

function lostOf(targets: readonly Target[], taken: readonly (Claimed | undefined)[]): string[] {
  return targets.flatMap(({ block, slots }, i) =>
    taken[i]?.slots.length === slots.length ? [] : [sortKeyOf(block)],
  );
}
