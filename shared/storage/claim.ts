import type { ClaimRequest, ReceivedMessage } from '../broker/ports.ts';
import { slotOf } from '../domain/block.ts';
import { type Log, withoutSession } from '../domain/log.ts';
import { claimed, failedDeliveries } from '../domain/slot.ts';
import { activateDue } from './activate.ts';
import { allowedOf, countOf, passedOver } from './allowed.ts';
import { answerable } from './answer-size.ts';
import { type Claimed, eachOf, newTag, type Receive, take } from './claim-blocks.ts';
import { blockSortKey, logKey, logName } from './keys.ts';
import { outcomeOf } from './outcome-of.ts';
import { loadMessages } from './payloads.ts';
import { type Scan, type ScanRequest, scan, type Target } from './scan.ts';
import { messageSeen, tokenOf } from './seen.ts';
import type { StoreContext } from './store-context.ts';
import { tidy } from './tidy.ts';

/**
 * Hands out messages of a log: one query from its front, one conditional write for each block, one
 * batch of gets for payloads. What is found expired or used up on the way is put where it belongs
 * before the answer.
 */
export async function claim(
  context: StoreContext,
  log: Log,
  request: ClaimRequest,
): Promise<readonly ReceivedMessage[]> {
  const now = context.clock.now();
  const lockEnd = request.rules.session?.holder?.lockedUntil ?? now + request.lockMs;
  const lockedUntil = request.mode === 'peekLock' ? lockEnd : undefined;
  const found = await find(
    context,
    log,
    { ...request, ...(lockedUntil === undefined ? {} : { lockedUntil }) },
    now,
  );
  const receive = { context, log, request, now, lockedUntil };
  let asked = 0;
  let got = 0;
  try {
    const allowed = allowedOf(await answerable(receive, found.targets), request.allowance);
    asked = countOf(allowed);
    const claims =
      lockedUntil === undefined
        ? await removeAll(receive, allowed)
        : await lockAll(receive, allowed, lockedUntil);
    got = claims.messages.length;
    await tidyBehind(receive, found.leftovers, got > 0);
    const left = [...claims.lost, ...passedOver(found.targets, allowed)];
    context.fronts.reopen(logName(log), left);
    return claims.messages;
  } catch (error) {
    context.fronts.forget(logName(log));
    throw error;
  } finally {
    request.allowance?.giveBack(asked - got);
    for (const target of found.targets) target.release();
  }
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
    return await scan(context, log, request, now);
  }
  // Mostly nothing is due: do not wait to hear it.
  const [activation, scanned] = await Promise.all([
    outcomeOf(activateDue(context, whole, now)),
    outcomeOf(scan(context, log, request, now)),
  ]);
  if ('error' in scanned) throw scanned.error;
  const { value: found } = scanned;
  if ('error' in activation) {
    // What the scan chose must not stay reserved, nor be passed over.
    for (const target of found.targets) target.release();
    context.fronts.forget(logName(log));
    throw activation.error;
  }
  if (!activation.value || found.targets.length > 0) return found;
  return await scan(context, log, request, now);
}

interface Claims {
  readonly messages: readonly ReceivedMessage[];
  /** Sort keys of blocks in which others were faster. */
  readonly lost: readonly string[];
}

/** Peek-lock: the write that locks comes first, so that nobody reads bodies in vain. */
async function lockAll(
  receive: Receive,
  targets: readonly Target[],
  lockedUntil: number,
): Promise<Claims> {
  const { context, log, request, now } = receive;
  const tag = newTag(context, request.rules);
  const taken = await eachOf(receive, targets, (target) =>
    take(receive, target, (slot) => claimed(slot, tag, lockedUntil, request.rules), tag),
  );
  const claims = taken.filter((claim) => claim !== undefined);
  noteLastDeliveries(receive, claims, lockedUntil);
  const loaded = await loadMessages(
    context.table,
    log,
    claims.map(({ block }) => block),
  );
  // Where a body is gone, this process was held up so long that others have had the message since.
  const live = claims.filter(({ block }) => loaded.has(block));
  const messages = live.flatMap(({ block, slots }) =>
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

/**
 * A lock on a last delivery that runs out makes a dead letter, though nobody may be there to see it:
 * the sweep is told when to look.
 */
function noteLastDeliveries(
  { context, log, request: { rules } }: Receive,
  claims: readonly Claimed[],
  lockedUntil: number,
): void {
  if (rules.isDeadLetter) return;
  const isLast = claims.some(({ block, slots }) =>
    slots.some((number) => slotOf(block, number).deliveries >= rules.maxDeliveryCount),
  );
  if (isLast) context.background(() => context.noteWork(log, lockedUntil));
}

/** Receive-and-delete: bodies are read first, so that a failed read loses nothing. */
async function removeAll(receive: Receive, targets: readonly Target[]): Promise<Claims> {
  const { context, log, request } = receive;
  const loaded = await loadMessages(
    context.table,
    log,
    targets.map(({ block }) => block),
  );
  // Where the body is gone, somebody else has had the message meanwhile.
  const taken = await eachOf(receive, targets, async (target) =>
    loaded.has(target.block) ? await take(receive, target, undefined) : undefined,
  );
  context.gauge.left(log);
  const messages = taken.flatMap((claim) =>
    claim === undefined
      ? []
      : claim.slots.map((number) => ({
          ...messageSeen(log, claim.block, number, loaded.at(claim.block, number), request.rules),
          failedDeliveries: slotOf(claim.block, number).deliveries,
        })),
  );
  return { messages: messages.sort(bySequenceNumber), lost: lostOf(targets, taken) };
}

function bySequenceNumber(a: ReceivedMessage, b: ReceivedMessage): number {
  return a.sequenceNumber < b.sequenceNumber ? -1 : 1;
}

function lostOf(targets: readonly Target[], taken: readonly (Claimed | undefined)[]): string[] {
  return targets.flatMap(({ block, slots }, i) =>
    taken[i]?.slots.length === slots.length ? [] : [blockSortKey(block.store, block.sequence)],
  );
}
