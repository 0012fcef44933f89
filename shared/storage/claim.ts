import type { ClaimRequest, ReceivedMessage } from '../broker/ports.ts';
import { type Block, slotOf, surveyBlock } from '../domain/block.ts';
import { lockTag, TAG_BYTES } from '../domain/lock-token.ts';
import type { Log } from '../domain/log.ts';
import { claimed, failedDeliveries, type Slot } from '../domain/slot.ts';
import { activateDue } from './activate.ts';
import { allowedOf, countOf, passedOver } from './allowed.ts';
import { fromBlockItem } from './block-item.ts';
import { blockDelete, blockUpdate, type SlotChange } from './block-writes.ts';
import { keyOf } from './blocks.ts';
import type { Written } from './dynamo.ts';
import { logKey } from './keys.ts';
import { outcomeOf } from './outcome-of.ts';
import { deletePayload, loadMessages } from './payloads.ts';
import { type Scan, type ScanRequest, scan, type Target } from './scan.ts';
import { messageSeen, tokenOf } from './seen.ts';
import type { StoreContext } from './store-context.ts';
import { tidy } from './tidy.ts';

/** How often a receive looks again at a block whose slots somebody else took meanwhile. */
const TRIES_MAX = 3;

interface Claimed {
  readonly block: Block;
  readonly slots: readonly number[];
}

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
  const lockedUntil = request.mode === 'peekLock' ? now + request.lockMs : undefined;
  const found = await find(
    context,
    log,
    { ...request, ...(lockedUntil === undefined ? {} : { lockedUntil }) },
    now,
  );
  const receive = { context, log, request, now, lockedUntil };
  const allowed = allowedOf(found.targets, request.allowance);
  const asked = countOf(allowed);
  let got = 0;
  try {
    const claims =
      lockedUntil === undefined
        ? await removeAll(receive, allowed)
        : await lockAll(receive, allowed, lockedUntil);
    got = claims.messages.length;
    await tidyBehind(receive, found.leftovers, got > 0);
    const left = [...claims.lost, ...passedOver(log, found.targets, allowed)];
    if (left.length > 0) {
      context.fronts.forget(logKey(log));
      found.remember(left);
    }
    return claims.messages;
  } catch (error) {
    context.fronts.forget(logKey(log));
    throw error;
  } finally {
    request.allowance?.giveBack(asked - got);
    for (const target of found.targets) target.release();
  }
}

/**
 * Takes from each target. What fails for one must not lose what was taken from the others: it is
 * thrown only where nothing was got at all.
 */
async function eachOf(
  targets: readonly Target[],
  takeFrom: (target: Target) => Promise<Claimed | undefined>,
): Promise<readonly (Claimed | undefined)[]> {
  const outcomes = await Promise.all(targets.map((target) => outcomeOf(takeFrom(target))));
  const taken = outcomes.map((outcome) => ('value' in outcome ? outcome.value : undefined));
  const failure = outcomes.find((outcome) => 'error' in outcome);
  if (failure !== undefined && taken.every((one) => one === undefined)) throw failure.error;
  return taken;
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
  if (context.dueTimes.isDue(logKey(log), now) !== 'unknown') {
    await activateDue(context, log, now);
    return await scan(context, log, request, now);
  }
  // Mostly nothing is due: do not wait to hear it.
  const [activation, found] = await Promise.all([
    outcomeOf(activateDue(context, log, now)),
    scan(context, log, request, now),
  ]);
  if ('error' in activation) {
    // What the scan chose must not stay reserved, nor be passed over.
    for (const target of found.targets) target.release();
    context.fronts.forget(logKey(log));
    throw activation.error;
  }
  if (!activation.value || found.targets.length > 0) return found;
  return await scan(context, log, request, now);
}

interface Receive {
  readonly context: StoreContext;
  readonly log: Log;
  readonly request: ClaimRequest;
  readonly now: number;
  readonly lockedUntil: number | undefined;
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
  const tag = lockTag(request.rules.epoch, context.random.bytes(TAG_BYTES - 1));
  const taken = await eachOf(targets, (target) =>
    take(receive, target, (slot) => claimed(slot, tag, lockedUntil, request.rules), tag),
  );
  const claims = taken.filter((claim) => claim !== undefined);
  noteLastDeliveries(receive, claims, lockedUntil);
  const loaded = await loadMessages(
    context.table,
    log,
    claims.map(({ block }) => block),
  );
  const messages = claims.flatMap(({ block, slots }) =>
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
  return { messages: messages.sort(bySequenceNumber), lost: lostOf(log, targets, taken) };
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
  const taken = await eachOf(targets, async (target) =>
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
  return { messages: messages.sort(bySequenceNumber), lost: lostOf(log, targets, taken) };
}

function bySequenceNumber(a: ReceivedMessage, b: ReceivedMessage): number {
  return a.sequenceNumber < b.sequenceNumber ? -1 : 1;
}

function lostOf(
  log: Log,
  targets: readonly Target[],
  taken: readonly (Claimed | undefined)[],
): string[] {
  return targets.flatMap(({ block, slots }, i) =>
    taken[i]?.slots.length === slots.length ? [] : [keyOf(log, block).sk],
  );
}

/**
 * Changes the chosen slots of one block, each on the condition that it is as it was seen. Where
 * somebody was faster, the failed write brings the block as it is now, and what is still free in it
 * is chosen anew, at random places so that losers do not meet again.
 */
async function take(
  receive: Receive,
  target: Target,
  change: ((slot: Slot) => Slot) | undefined,
  tag?: Uint8Array,
): Promise<Claimed | undefined> {
  const { context, log, request, now } = receive;
  let { block } = target;
  let slots = target.slots;
  for (let tries = 0; tries < TRIES_MAX && slots.length > 0; tries++) {
    const written = await write(context, log, block, slots, change);
    if (written.done)
      return change === undefined ? { block, slots } : changed(block, slots, change);
    if (written.old === undefined) return undefined;
    block = { ...fromBlockItem(written.old), payload: block.payload };
    // The answer to an earlier try of this very write was lost: the locks are ours.
    const ours = tag === undefined ? [] : slotsWithTag(block, tag);
    if (ours.length > 0) return { block, slots: ours };
    const free = surveyBlock(block, request.rules, now).free;
    slots = pickAtRandom(context, free, target.slots.length);
  }
  return undefined;
}

async function write(
  context: StoreContext,
  log: Log,
  block: Block,
  slots: readonly number[],
  change: ((slot: Slot) => Slot) | undefined,
): Promise<Written> {
  const { table } = context;
  const changes = slots.map((number): SlotChange => {
    const slot = slotOf(block, number);
    const effect = change === undefined ? REMOVE : ({ kind: 'set', slot: change(slot) } as const);
    return { number, when: { kind: 'unchanged', slot }, effect };
  });
  if (change !== undefined || slots.length < block.slots.size) {
    return await table.update(keyOf(log, block), blockUpdate(changes));
  }
  const written = await table.delete(keyOf(log, block), blockDelete(changes));
  if (written.done) context.background(() => deletePayload(table, log, block.payload));
  return written;
}

const REMOVE = { kind: 'remove' } as const;

function changed(block: Block, slots: readonly number[], change: (slot: Slot) => Slot): Claimed {
  const after = new Map(block.slots);
  for (const number of slots) after.set(number, change(slotOf(block, number)));
  return { block: { ...block, slots: after }, slots };
}

function slotsWithTag(block: Block, tag: Uint8Array): number[] {
  return Array.from(block.slots)
    .filter(([, slot]) => slot.tag?.every((byte, i) => byte === tag[i]))
    .map(([number]) => number)
    .sort((a, b) => a - b);
}

function pickAtRandom(
  context: StoreContext,
  free: readonly number[],
  count: number,
): readonly number[] {
  if (free.length <= count) return free;
  const [byte] = context.random.bytes(1);
  const start = (byte ?? 0) % (free.length - count + 1);
  return free.slice(start, start + count);
}
