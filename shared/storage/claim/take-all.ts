import type { ReceivedMessage } from '../../broker/broker.ts';
import { slotOf } from '../../domain/blocks/block.ts';
import { claimed, deliveriesOf, failedDeliveries, type Slot } from '../../domain/blocks/slot.ts';
import { unknownOutcome } from '../../domain/broker-error.ts';
import { bySequenceNumber } from '../../domain/messages/message.ts';
import { resultOf } from '../../domain/result-of.ts';
import { type LoadedMessages, loadMessages } from '../blocks/payloads.ts';
import { logName } from '../schema/message-keys.ts';
import type { Target } from './choice.ts';
import {
  type Claimed,
  claimBlock,
  eachOf,
  lockEnd,
  newTag,
  newTags,
  type Receive,
  type TagOf,
} from './claim-blocks.ts';
import { reportTo } from './group-report.ts';
import { tokenOf, toReceivedMessage } from './received-message.ts';

/**
 * Peek-lock. It reads payloads while it locks, unless other processes were faster lately: then it locks first, so that
 * only the winner of a race reads them. In a session it locks first too.
 */
export async function lockAll(
  receive: Receive,
  targets: readonly Target[],
): Promise<readonly ReceivedMessage[]> {
  const { context, log, request } = receive;
  const tag = newTag(context, request.rules);
  const isInSession = request.rules.session !== undefined;
  const isCalm = !isInSession && context.spread.widthOf(logName(log)) === 1;
  const reading = isCalm ? resultOf(loadClaimed(receive, targets)) : undefined;
  const messagesOf = async (claims: readonly Locked[]) => {
    const early = await reading;
    const isRead = early !== undefined && 'value' in early;
    const loaded = isRead ? early.value : await loadClaimed(receive, claims);
    return lockedMessages(receive, claims, loaded);
  };
  const lock = async (target: Target, inTurn: Receive) => {
    const lockedUntil = lockEnd(request, inTurn.now);
    const tagOf = newTags(receive, tag);
    const change = (slot: Slot, number: number) =>
      claimed(slot, tagOf(number), lockedUntil, request.rules);
    const got = await claimBlock(inTurn, target, { kind: 'lock', tagOf, change });
    if (got === undefined) return undefined;
    // Before anybody can settle them.
    context.scanHints.pages.noteLocked(logName(log), got);
    return { ...got, lockedUntil, tagOf };
  };
  return await takeAll(receive, targets, lock, messagesOf, noteLocked);
}

/**
 * Takes messages from all targets by `takeFrom`, and reads them by `messagesOf`: those of all blocks together, or, for
 * several receivers, those of each block as soon as they are taken. `noteTaken` hears of all that was taken.
 */
async function takeAll<Got extends Claimed>(
  receive: Receive,
  targets: readonly Target[],
  takeFrom: (target: Target, receive: Receive) => Promise<Got | undefined>,
  messagesOf: (claims: readonly Got[]) => Promise<ReceivedMessage[]>,
  noteTaken: (receive: Receive, claims: readonly Got[]) => void,
): Promise<readonly ReceivedMessage[]> {
  const report = reportTo(receive.request.group, messagesOf);
  const taken = await eachOf(receive, targets, takeFrom, report?.tell);
  const claims = taken.filter((claim) => claim !== undefined);
  noteTaken(receive, claims);
  const messages = await (report?.told() ?? messagesOf(claims));
  return messages.sort(bySequenceNumber);
}

/** A block of which a receive has locked messages. */
interface Locked extends Claimed {
  /** Epoch ms. */
  readonly lockedUntil: number;
  readonly tagOf: TagOf;
}

/** Locked messages as the receiver gets them. */
function lockedMessages(
  { log, request: { rules }, now }: Receive,
  claims: readonly Locked[],
  loaded: LoadedMessages,
): ReceivedMessage[] {
  // A missing payload means that this process was paused so long that another receiver completed the message.
  const live = claims.filter(({ block }) => loaded.has(block));
  return live.flatMap(({ block, slots, lockedUntil, tagOf }) =>
    slots.map((number) => ({
      ...toReceivedMessage(log, block, number, loaded.at(block, number), rules),
      failedDeliveries: failedDeliveries(slotOf(block, number), rules, now),
      lockToken: tokenOf(log, block, number, tagOf(number)),
      lockedUntil,
    })),
  );
}

/** Loads the messages of locked blocks. Throws ServiceTimeout: the messages stay locked, and nobody gets them. */
async function loadClaimed(
  { context, log }: Receive,
  claims: readonly Pick<Claimed, 'block'>[],
): Promise<LoadedMessages> {
  try {
    const blocks = claims.map(({ block }) => block);
    return await loadMessages(context, log, blocks);
  } catch (error) {
    throw unknownOutcome(error);
  }
}

/** Notes when locks end, for consumers of the log and for the sweep. The lock of a session is noted with it. */
function noteLocked(
  receive: Receive,
  claims: readonly (Claimed & { readonly lockedUntil: number })[],
): void {
  const { context, log } = receive;
  const isNoted = log.isConsumed && log.sessions === undefined && claims.length > 0;
  if (isNoted) {
    const lockedUntil = Math.max(...claims.map((claim) => claim.lockedUntil));
    context.consumers.availableAt(log, lockedUntil);
  }
  noteLastDeliveries(receive, claims);
}

/**
 * Schedules the sweep for the end of locks on last deliveries: when such a lock expires, the message becomes a dead
 * letter even if no receiver comes.
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
  context.background(() => context.addDueWork(log, lockedUntil));
}

/** A block of which a receive has removed messages. */
interface Removed extends Claimed {
  /** When, epoch ms. */
  readonly now: number;
}

/**
 * Receive-and-delete (semantics #1): reads payloads first, so that a failed read loses nothing. There is no token to
 * settle with (semantics #18).
 */
export async function removeAll(
  receive: Receive,
  targets: readonly Target[],
): Promise<readonly ReceivedMessage[]> {
  const { context, log, request } = receive;
  const loaded = await loadMessages(
    context,
    log,
    targets.map(({ block }) => block),
  );
  const messagesOf = async (claims: readonly Removed[]) =>
    claims.flatMap(({ block, slots, now }) =>
      slots.map((number) => ({
        ...toReceivedMessage(log, block, number, loaded.at(block, number), request.rules),
        failedDeliveries: failedDeliveries(slotOf(block, number), request.rules, now),
      })),
    );
  const remove = async (target: Target, inTurn: Receive) => {
    const how = { kind: 'remove' } as const;
    // A missing payload means that another receiver took the message meanwhile.
    const got = loaded.has(target.block) ? await claimBlock(inTurn, target, how) : undefined;
    if (got === undefined) return undefined;
    const { block, slots } = got;
    context.scanHints.pages.noteLeft(logName(log), block, (slot) => !slots.includes(slot));
    return { ...got, now: inTurn.now };
  };
  const noteRemoved = () => context.sizeEstimate.noteRemoval(log);
  return await takeAll(receive, targets, remove, messagesOf, noteRemoved);
}
