import type { ClaimRequest } from '../../broker/ports/messages.ts';
import { type Block, slotOf, surveyBlock } from '../../domain/blocks/block.ts';
import { lockTag, TAG_BYTES } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { sessionLockLost, sessionLockTag } from '../../domain/blocks/session.ts';
import type { LockRules, Slot } from '../../domain/blocks/slot.ts';
import { isUnknownOutcome, throwGravest, unknownOutcome } from '../../domain/broker-error.ts';
import { type Result, resultOf } from '../../domain/result-of.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { mapInTurns } from '../../domain/turns/loop-turns.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import {
  blockDelete,
  blockUpdate,
  ifSameProperties,
  type SlotChange,
} from '../blocks/block-writes.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { keyOf } from '../blocks/read-blocks.ts';
import { orLookedUp } from '../dynamodb/look-up.ts';
import type { Written } from '../dynamodb/requests.ts';
import { nextTry } from '../dynamodb/unknown-outcome.ts';
import { logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { letGo, type Target } from './choice.ts';

/** Tries in one block, the first included; another one follows if another receiver took the chosen slots. */
const TRIES_MAX = 3;

/**
 * The share of a lock's duration that one receive may spend on claiming: the first locked message waits for the
 * last. A receive that needs longer leaves its other targets.
 */
const CLAIMING_SHARE_OF_LOCK = 0.25;

/** The messages that a receive got from one block. */
export interface Claimed {
  readonly block: Block;
  readonly slots: readonly number[];
}

/** One receive from one log. */
export interface Receive {
  readonly context: StoreContext;
  readonly log: Log;
  readonly request: ClaimRequest;
  readonly now: number;
  /** Whether the targets were chosen among remembered blocks; a lost race then says little about others. */
  readonly isFromMemory: boolean;
  /** From how many blocks it has tried to take messages. */
  readonly tried: { blocks: number };
}

/** How a receive takes messages: under a lock, with the slot that a message then has, or for good. */
export type Taking =
  | {
      readonly kind: 'lock';
      readonly tagOf: TagOf;
      readonly change: (slot: Slot, number: number) => Slot;
    }
  | { readonly kind: 'remove' };

/** The lock tag for a slot of one block. */
export type TagOf = (slot: number) => Uint8Array;

/** When locks that begin at `now` end, epoch ms (semantics #3): with the session's lock in a session. */
export function lockEnd({ rules, lockMs }: ClaimRequest, now: number): number {
  return rules.session?.holder?.lockedUntil ?? now + lockMs;
}

/**
 * Claims from all targets, several at a time; in a session one after the other. Stops when the receiver has gone, or
 * when the first lock has used up its share of time; the result for the remaining targets is undefined. A failure at
 * one target must not lose messages from the others, so it is thrown only if nothing was claimed at all. `onOne` hears
 * the outcome at each target, by its index, as soon as it is known.
 */
export async function eachOf<Got extends Claimed>(
  receive: Receive,
  targets: readonly Target[],
  takeFrom: (target: Target, receive: Receive) => Promise<Got | undefined>,
  onOne?: (index: number, outcome: Result<Got | undefined>) => void,
): Promise<readonly (Got | undefined)[]> {
  const { context, request } = receive;
  const { clock, requestTurns } = context;
  let until = Number.POSITIVE_INFINITY;
  const isEnough = () => request.isWanted?.() === false || clock.now() >= until;
  const takeAndLetGo = async (target: Target, index: number) => {
    const now = clock.now();
    until = Math.min(until, now + request.lockMs * CLAIMING_SHARE_OF_LOCK);
    const slots = target.slots.slice(0, request.group?.wanted(index));
    let claimed: Got | undefined;
    try {
      // A block that comes too late is let go at once: another one's write may have no answer.
      if (slots.length === 0 || isEnough()) return undefined;
      receive.tried.blocks++;
      claimed = await takeFrom({ ...target, slots }, { ...receive, now });
      return claimed;
    } finally {
      // Others need not wait for the rest of the claim to receive what this one did not get.
      if (claimed?.slots.length === target.slots.length) target.reservation.end(true);
      else letGo(context, receive.log, [target]);
    }
  };
  if (request.rules.session !== undefined) {
    const mayFailPartly = request.mode === 'receiveAndDelete';
    return await oneAfterAnother(targets, takeAndLetGo, isEnough, mayFailPartly);
  }
  const outcomes = await mapInTurns(
    requestTurns,
    [...targets.entries()],
    async ([index, target]) => {
      const outcome = await resultOf(takeAndLetGo(target, index));
      onOne?.(index, outcome);
      return outcome;
    },
  );
  const taken = outcomes.map((outcome) => ('value' in outcome ? outcome.value : undefined));
  if (taken.every((one) => one === undefined)) throwGravest(outcomes);
  return taken;
}

/**
 * Claims the messages of a session in order, since none may be received before those in front of it (semantics #91).
 * A lock with an unknown outcome fails the whole call, since it may hide messages; any other failure ends it with the
 * messages it has, such as those that were removed (`mayFailPartly`).
 */
async function oneAfterAnother<Got extends Claimed>(
  targets: readonly Target[],
  takeFrom: (target: Target, index: number) => Promise<Got | undefined>,
  isEnough: () => boolean,
  mayFailPartly: boolean,
): Promise<readonly (Got | undefined)[]> {
  const taken: (Got | undefined)[] = [];
  for (const [index, target] of targets.entries()) {
    if (isEnough()) break;
    const outcome = await resultOf(takeFrom(target, index));
    if ('error' in outcome) {
      const isHiding = isUnknownOutcome(outcome.error) && !mayFailPartly;
      if (taken.length === 0 || isHiding) throw outcome.error;
      break;
    }
    taken.push(outcome.value);
    if (outcome.value?.slots.length !== target.slots.length) break;
  }
  return taken;
}

/** Tags for the slots of one block: one for all, or one each if the messages are for several receivers. */
export function newTags({ context, request }: Receive, shared: Uint8Array): TagOf {
  if (request.group === undefined) return () => shared;
  const tags = new Map<number, Uint8Array>();
  return (slot) => {
    const tag = tags.get(slot) ?? newTag(context, request.rules);
    tags.set(slot, tag);
    return tag;
  };
}

/** A new random lock tag; in a session it begins with the id of the session's lock. */
export function newTag({ random }: StoreContext, { epoch, session }: LockRules): Uint8Array {
  const bytes = random.bytes(TAG_BYTES - 1);
  const holder = session?.holder;
  return holder === undefined ? lockTag(epoch, bytes) : sessionLockTag(holder.lockId, bytes);
}

/**
 * Locks or removes the chosen slots of one block, each on the condition that it is unchanged. A failed write returns
 * the block as it is now, and the receive chooses again among its free messages: at random, so that two losers do not
 * meet again, or the first ones if what it chose from was remembered. If the outcome of a write is unknown, the block
 * is looked up and one more write decides: after that one, a late copy of the first cannot take effect. One write unit
 * for each try. Throws ServiceTimeout if the outcome of both is unknown.
 */
export async function claimBlock(
  receive: Receive,
  target: Target,
  how: Taking,
): Promise<Claimed | undefined> {
  const { context, log, request, now, isFromMemory } = receive;
  let { block } = target;
  let slots = target.slots;
  let isUncertain = false;
  const { session } = request.rules;
  for (let tries = 0; tries < TRIES_MAX && slots.length > 0; tries++) {
    // After the session's lock has ended, another receiver may hold the session and its messages.
    if (session?.holder !== undefined && session.holder.lockedUntil <= context.clock.now())
      throw isUncertain ? unknownOutcome() : sessionLockLost();
    const written: Written = await nextTry(isUncertain, write(receive, block, slots, how));
    if (written.done)
      return how.kind === 'remove' ? { block, slots } : changed(block, slots, how.change);
    const current = written.old && fromBlockItem(written.old);
    context.scanHints.pages.noteLostRace(logName(log));
    isUncertain ||= written.isUncertain;
    // The earlier write may have removed them, so the answer is not "nothing there" (semantics #2).
    if (how.kind === 'remove' && isUncertain && isNoneLeft(current, slots)) throw unknownOutcome();
    if (current === undefined) return undefined;
    const isChanged = !hasSameProperties(current, block);
    // With the payload that the receive reads.
    block = { ...current, payload: block.payload };
    // The earlier write of this claim took effect: the locks are ours.
    const ours = how.kind === 'remove' ? [] : slotsWithTags(block, how.tagOf);
    if (ours.length > 0) return { block, slots: ours };
    // The receive scans again: it has read other properties.
    if (isChanged && !isUncertain) return undefined;
    const free = surveyBlock(block, request.rules, now).free;
    // A late copy of the write may still arrive. Writing the same slots again makes its condition fail.
    if (isUncertain && slots.every((slot) => free.includes(slot))) continue;
    // Dead letters count no deliveries, so a message that was returned looks unchanged to a late copy of a
    // removal.
    if (isUncertain && how.kind === 'remove' && log.subQueue !== 'main') throw unknownOutcome();
    isUncertain = false;
    slots =
      session === undefined && !isFromMemory
        ? pickAtRandom(context, free, target.slots.length)
        : free.slice(0, target.slots.length);
  }
  if (isUncertain) throw unknownOutcome();
  return undefined;
}

async function write(
  { context, log }: Receive,
  block: Block,
  slots: readonly number[],
  how: Taking,
): Promise<Written> {
  const { table } = context;
  const key = keyOf(log, block);
  const changes = slots.map((number): SlotChange => {
    const slot = slotOf(block, number);
    const effect =
      how.kind === 'remove' ? how : ({ kind: 'set', slot: how.change(slot, number) } as const);
    return { number, when: { kind: 'unchanged', slot }, effect };
  });
  const isRemoval = how.kind === 'remove' && slots.length === block.slots.size;
  const writing = isRemoval
    ? table.delete(key, ifSameProperties(blockDelete(changes), block))
    : table.update(key, ifSameProperties(blockUpdate(changes), block));
  const written = await orLookedUp(table, key, writing);
  if (isRemoval && written.done) {
    context.background(() => releasePayload(table, log, block.payload));
  }
  return written;
}

function hasSameProperties({ payload: one }: Block, { payload: other }: Block): boolean {
  return other.overlay === undefined
    ? one.overlay === undefined
    : isSameBytes(one.overlay, other.overlay);
}

function isNoneLeft(block: Block | undefined, slots: readonly number[]): boolean {
  return !slots.some((slot) => block?.slots.has(slot));
}

function changed(
  block: Block,
  slots: readonly number[],
  change: (slot: Slot, number: number) => Slot,
): Claimed {
  const after = new Map(block.slots);
  for (const number of slots) after.set(number, change(slotOf(block, number), number));
  return { block: { ...block, slots: after }, slots };
}

function slotsWithTags(block: Block, tagOf: TagOf): number[] {
  return Array.from(block.slots)
    .filter(([number, slot]) => isSameBytes(slot.tag, tagOf(number)))
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
