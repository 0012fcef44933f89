import type { SettlementAction } from '../../broker/broker.ts';
import { type Block, expiryOf, slotOf } from '../../domain/blocks/block.ts';
import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { deliveriesOf, type Slot, type SlotRules } from '../../domain/blocks/slot.ts';
import {
  maxDeliveryExceeded,
  TIME_TO_LIVE_EXPIRED,
} from '../../domain/messages/dead-letter-reasons.ts';
import { RETURN_BLOCK } from '../blocks/block-removal.ts';
import {
  blockUpdate,
  type SlotChange,
  type SlotEffect,
  underLock,
} from '../blocks/block-writes.ts';
import type { Overlay } from '../blocks/payloads.ts';
import { announceAbandoned, keyOf } from '../blocks/read-blocks.ts';
import type { PreparedWrite } from '../dynamodb/prepared-write.ts';
import type { StoreContext } from '../store-context.ts';
import { overlayOf, reasonProperties, requireRoom } from './changed-properties.ts';
import { type MoveOut, mergeOverlays, prepareMove } from './move.ts';

/** A settlement or renewal of a message whose lock the caller holds. */
export interface HeldChange {
  readonly token: LockToken;
  /** `until` = the end of a renewed lock, epoch ms. */
  readonly action: SettlementAction | { readonly kind: 'renew'; readonly until: number };
}

/**
 * Prepares the settlement of messages of one block: one change of the block, and new blocks for messages that move.
 * `block` is an image in which all the locks are live; the conditions check that they still are. Undefined = the block
 * is gone. Throws ArgumentError for too many changed properties.
 */
export async function prepareSettlements(
  context: StoreContext,
  log: Log,
  block: Block,
  held: readonly HeldChange[],
  policy: LogPolicy,
  now: number,
): Promise<PreparedWrite | undefined> {
  for (const { action } of held) requireRoom(block, action);
  const [only] = held;
  const prepared =
    only !== undefined && staysAlone(block, only, policy, now)
      ? changeInPlace(log, block, only, policy, now)
      : await prepareChanges(context, log, block, held, policy, now);
  if (prepared === undefined) return undefined;
  return {
    ...prepared,
    announce: async () => {
      await prepared.announce?.();
      if (held.every(({ action }) => action.kind === 'complete' || action.kind === 'renew')) return;
      announceAbandoned(
        context,
        log,
        held.map(({ action }) => action),
      );
    },
    onDone: () => {
      prepared.onDone?.();
      if (held.some(({ action }) => action.kind === 'complete'))
        context.sizeEstimate.noteRemoval(log);
    },
  };
}

async function prepareChanges(
  context: StoreContext,
  log: Log,
  block: Block,
  held: readonly HeldChange[],
  policy: LogPolicy,
  now: number,
): Promise<PreparedWrite | undefined> {
  const moves: MoveOut[] = [];
  const changes: SlotChange[] = [];
  for (const one of held) {
    const { token, action } = one;
    const endReason = endReasonOf(block, one, policy, now);
    const isDropped = endReason === 'expired' && policy.onExpiry === 'drop';
    const change = { number: token.slot, when: underLock(token.tag, policy.rules, now) };
    if (isDropped || action.kind === 'complete') {
      changes.push({ ...change, effect: { kind: 'remove' } });
    } else if (action.kind === 'renew') {
      // A lock that already lasts as long gets a slightly later end, so that the write can be recognized.
      const until = Math.max(action.until, (slotOf(block, token.slot).heldUntil ?? 0) + 1);
      changes.push({ ...change, effect: { kind: 'extend', until } });
    } else if (action.kind === 'abandon' && action.properties === undefined && !endReason) {
      changes.push({ ...change, effect: releaseOf(action, policy.rules, now) });
    } else {
      moves.push(moveOutOf(log, block, { token, action, endReason }, policy, now));
    }
  }
  return await prepareMove(context, log, block, joinDeadLetters(moves), changes);
}

/**
 * Why an abandoned message does not become available again: its deliveries are used up (semantics #22), or it has
 * expired (semantics #46, D4: the deliveries come first). A deferral is possible even then (semantics #B13).
 */
function endReasonOf(
  block: Block,
  { token, action }: HeldChange,
  { rules }: LogPolicy,
  now: number,
): 'exhausted' | 'expired' | undefined {
  if (action.kind !== 'abandon' || rules.isDeadLetter || block.section === 'deferred')
    return undefined;
  const slot = slotOf(block, token.slot);
  if (countAfter(slot, action, rules) >= rules.maxDeliveryCount) return 'exhausted';
  const expiresAt = expiryOf(block, slot, rules);
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : undefined;
}

/** A message alone in its block need not move to change its properties or to be deferred again (semantics #69). */
function staysAlone(block: Block, one: HeldChange, policy: LogPolicy, now: number): boolean {
  if (block.slots.size > 1 || endReasonOf(block, one, policy, now) !== undefined) return false;
  if (one.action.kind === 'abandon') return true;
  return one.action.kind === 'defer' && block.section === 'deferred';
}

function changeInPlace(
  log: Log,
  block: Block,
  { token, action }: HeldChange,
  { rules }: LogPolicy,
  now: number,
): PreparedWrite {
  const change = { number: token.slot, when: underLock(token.tag, rules, now) };
  const update = blockUpdate([{ ...change, effect: releaseOf(action, rules, now) }]);
  const overlay = mergeOverlays(block.payload.overlay, overlayOf(action));
  return {
    writes: [
      {
        update: keyOf(log, block),
        ...(overlay === undefined ? update : withOverlay(update, overlay)),
        ...RETURN_BLOCK,
      },
    ],
  };
}

/**
 * The change of a slot whose message stays in its block, and stays back after an abandon with a delay (semantics L4).
 */
export function releaseOf(
  action: HeldChange['action'],
  { isDeadLetter }: SlotRules,
  now: number,
): SlotEffect {
  if (action.kind !== 'abandon') return { kind: 'release' };
  return {
    kind: 'release',
    ...(action.delayMs === undefined ? {} : { heldUntil: now + action.delayMs }),
    ...(action.isUncounted && !isDeadLetter ? { isUncounted: true } : {}),
  };
}

/**
 * The delivery count after a settlement: the current delivery was counted at its claim (semantics M14, #71).
 * One that ends with a dead letter does not count (semantics D3).
 */
function countAfter(slot: Slot, action: HeldChange['action'], rules: SlotRules): number {
  const isUncounted =
    action.kind === 'deadLetter' || (action.kind === 'abandon' && action.isUncounted === true);
  const deliveries = deliveriesOf(slot, rules);
  return isUncounted && !rules.isDeadLetter ? deliveries - 1 : deliveries;
}

function withOverlay(update: ReturnType<typeof blockUpdate>, overlay: Uint8Array) {
  const { UpdateExpression: expression } = update;
  return {
    ...update,
    UpdateExpression: expression.startsWith('SET ')
      ? expression.replace('SET ', 'SET v = :overlay, ')
      : `SET v = :overlay ${expression}`,
    ExpressionAttributeValues: {
      ...update.ExpressionAttributeValues,
      ':overlay': { B: overlay },
    },
  };
}

interface Leaving {
  readonly token: LockToken;
  readonly action: SettlementAction;
  readonly endReason: ReturnType<typeof endReasonOf>;
}

function moveOutOf(
  log: Log,
  block: Block,
  { token, action, endReason }: Leaving,
  policy: LogPolicy,
  now: number,
): MoveOut {
  const slot = slotOf(block, token.slot);
  const { expiresAt } = slot;
  const deliveries = countAfter(slot, action, policy.rules);
  const kept = expiresAt === undefined ? {} : { expiresAt };
  const when = underLock(token.tag, policy.rules, now);
  const leaving = (after: Slot) => [{ number: token.slot, when, after }];
  const overlay = overlayOf(action);
  if (endReason !== undefined) {
    const { reason, description } =
      endReason === 'expired'
        ? TIME_TO_LIVE_EXPIRED
        : maxDeliveryExceeded(policy.rules.maxDeliveryCount);
    return {
      slots: leaving({ deliveries, ...kept }),
      to: policy.deadLetterLog,
      section: 'live',
      overlay: { properties: { ...overlay.properties, ...reasonProperties(reason, description) } },
    };
  }
  switch (action.kind) {
    case 'deadLetter':
      return {
        // Into the dead-letter queue, with a reason (semantics #B12). This is not a failed delivery (semantics M14).
        slots: leaving({ deliveries, ...kept }),
        to: policy.deadLetterLog,
        section: 'live',
        overlay,
      };
    case 'defer':
      // In the queue where it is, so a dead letter is received by its number there (semantics #36).
      return { slots: leaving({ deliveries, ...kept }), to: log, section: 'deferred', overlay };
    default: {
      const delayMs = action.kind === 'abandon' ? action.delayMs : undefined;
      const back = delayMs === undefined ? {} : { heldUntil: now + delayMs };
      return {
        slots: leaving({ deliveries, ...kept, ...back }),
        to: log,
        section: 'returned',
        overlay,
      };
    }
  }
}

/** Joins messages that are dead-lettered for the same reason, so that they share a new block. */
function joinDeadLetters(moves: readonly MoveOut[]): readonly MoveOut[] {
  const joined = new Map<string, MoveOut>();
  const rest: MoveOut[] = [];
  for (const move of moves) {
    if (move.section !== 'live') {
      rest.push(move);
      continue;
    }
    const key = fingerprint(move.overlay);
    const other = joined.get(key);
    joined.set(
      key,
      other === undefined ? move : { ...other, slots: [...other.slots, ...move.slots] },
    );
  }
  return [...joined.values(), ...rest];
}

function fingerprint(overlay: Overlay): string {
  return JSON.stringify(overlay, (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
}
