import type { SettlementAction } from '../broker/broker.ts';
import { type Block, expiryOf, slotOf } from '../domain/block.ts';
import { BrokerError } from '../domain/broker-error.ts';
import { maxDeliveryExceeded, TIME_TO_LIVE_EXPIRED } from '../domain/dead-letter.ts';
import type { Log } from '../domain/log.ts';
import type { LogPolicy } from '../domain/log-policy.ts';
import { type Properties, text } from '../domain/property-value.ts';
import { holdsLock, type Slot } from '../domain/slot.ts';
import { fromBlockItem } from './block-item.ts';
import { blockUpdate, underLock } from './block-writes.ts';
import { announceReturn, keyOf } from './blocks.ts';
import { decided } from './failures.ts';
import { type Departure, mergeOverlays, moveOut } from './move.ts';
import type { Overlay } from './payloads.ts';
import type { BlockSettlement } from './settle.ts';
import type { StoreContext } from './store-context.ts';

/**
 * Settlements by which a message changes its place: dead-letter, defer, and abandon with changed
 * properties. The block is read first, since the message, or the right to its payload, goes along.
 */

const TRIES_MAX = 10;

/** Whether a settlement needs more than a change of the slot. */
export function isMove(action: SettlementAction): boolean {
  if (action.kind === 'complete') return false;
  return action.kind !== 'abandon' || action.properties !== undefined;
}

/** Carries out such settlements of one block; returns those whose locks were live. */
export async function settleByMoving(
  context: StoreContext,
  log: Log,
  group: readonly BlockSettlement[],
  policy: LogPolicy,
): Promise<readonly BlockSettlement[]> {
  const [first] = group;
  if (first === undefined) return [];
  const key = keyOf(log, { store: first.token.store, sequence: first.token.block });
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const now = context.clock.now();
    const item = await context.table.get(key, { consistent: true });
    if (item === undefined) return [];
    const block = fromBlockItem(item);
    const held = group.filter(({ token }) =>
      holdsLock(block.slots.get(token.slot), token.tag, policy.rules, now),
    );
    if (held.length === 0) return [];
    const isDone = await moveHeld(context, log, block, held, policy, now);
    if (isDone) {
      announceReturn(context, log);
      return held;
    }
  }
  throw new BrokerError('ServiceBusy', 'Others settle in the same block all the time; try again.');
}

async function moveHeld(
  context: StoreContext,
  log: Log,
  block: Block,
  held: readonly BlockSettlement[],
  policy: LogPolicy,
  now: number,
): Promise<boolean> {
  const [only] = held;
  const isAlone = only !== undefined && block.slots.size === 1;
  if (
    isAlone &&
    staysInPlace(block, only.action) &&
    fateOf(block, only, policy, now) === undefined
  ) {
    return await changeInPlace(context, log, block, only, policy, now);
  }
  const isDropped = (one: BlockSettlement) =>
    fateOf(block, one, policy, now) === 'expired' && policy.expired === 'drop';
  const departures = joinDeadLetters(
    held
      .filter((one) => !isDropped(one))
      .map((settlement) => departureOf(log, block, settlement, policy, now)),
  );
  const removals = held.filter(isDropped).map(({ token }) => ({
    number: token.slot,
    when: underLock(token.tag, policy.rules, now),
  }));
  const outcome = await moveOut(context, log, block, departures, removals);
  return decided(outcome);
}

/** What is given back with its deliveries used up, or too late, is not handed out again. */
function fateOf(
  block: Block,
  { token, action }: BlockSettlement,
  { rules }: LogPolicy,
  now: number,
): 'exhausted' | 'expired' | undefined {
  if (action.kind !== 'abandon' || rules.isDeadLetter || block.store === 'deferred')
    return undefined;
  const slot = slotOf(block, token.slot);
  if (slot.deliveries >= rules.maxDeliveryCount) return 'exhausted';
  const expiresAt = expiryOf(block, slot, rules);
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : undefined;
}

/** A message alone in its block need not move to get other properties, nor to be deferred again. */
function staysInPlace(block: Block, action: SettlementAction): boolean {
  if (action.kind === 'abandon') return true;
  return action.kind === 'defer' && block.store === 'deferred';
}

async function changeInPlace(
  context: StoreContext,
  log: Log,
  block: Block,
  { token, action }: BlockSettlement,
  policy: LogPolicy,
  now: number,
): Promise<boolean> {
  const delayMs = action.kind === 'abandon' ? action.delayMs : undefined;
  const update = blockUpdate([
    {
      number: token.slot,
      when: underLock(token.tag, policy.rules, now),
      effect:
        delayMs === undefined ? { kind: 'release' } : { kind: 'release', heldUntil: now + delayMs },
    },
  ]);
  const overlay = mergeOverlays(block.payload.overlay, overlayOf(action));
  const written = await context.table.update(
    keyOf(log, block),
    overlay === undefined ? update : withOverlay(update, overlay),
  );
  return decided(written);
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

function departureOf(
  log: Log,
  block: Block,
  settlement: BlockSettlement,
  policy: LogPolicy,
  now: number,
): Departure {
  const { token, action } = settlement;
  const { deliveries, expiresAt } = slotOf(block, token.slot);
  const kept = expiresAt === undefined ? {} : { expiresAt };
  const when = underLock(token.tag, policy.rules, now);
  const leaving = (after: Slot) => [{ number: token.slot, when, after }];
  const overlay = overlayOf(action);
  const fate = fateOf(block, settlement, policy, now);
  if (fate !== undefined) {
    const { reason, description } =
      fate === 'expired'
        ? TIME_TO_LIVE_EXPIRED
        : maxDeliveryExceeded(policy.rules.maxDeliveryCount);
    return {
      slots: leaving({ deliveries, ...kept }),
      to: policy.deadLetterLog,
      store: 'live',
      overlay: { properties: { ...overlay.properties, ...reasonProperties(reason, description) } },
    };
  }
  switch (action.kind) {
    case 'deadLetter':
      return {
        // An explicit dead-letter is no failed delivery; the one under way was counted at its claim.
        slots: leaving({ deliveries: Math.max(0, deliveries - 1), ...kept }),
        to: policy.deadLetterLog,
        store: 'live',
        overlay,
      };
    case 'defer':
      return { slots: leaving({ deliveries, ...kept }), to: log, store: 'deferred', overlay };
    default: {
      const delayMs = action.kind === 'abandon' ? action.delayMs : undefined;
      const back = delayMs === undefined ? {} : { heldUntil: now + delayMs };
      const slot = { deliveries, ...kept, ...back };
      return { slots: leaving(slot), to: log, store: 'returned', overlay };
    }
  }
}

/** Messages of one block that are dead-lettered for the same reason stay together there. */
function joinDeadLetters(departures: readonly Departure[]): readonly Departure[] {
  const joined = new Map<string, Departure>();
  const rest: Departure[] = [];
  for (const departure of departures) {
    if (departure.store !== 'live') {
      rest.push(departure);
      continue;
    }
    const key = fingerprint(departure.overlay);
    const other = joined.get(key);
    joined.set(
      key,
      other === undefined ? departure : { ...other, slots: [...other.slots, ...departure.slots] },
    );
  }
  return [...joined.values(), ...rest];
}

function fingerprint(overlay: Overlay): string {
  return JSON.stringify(overlay, (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
}

/** What a settlement changes about the messages it moves. */
export function overlayOf(action: SettlementAction): Overlay {
  if (action.kind === 'complete') return { properties: {} };
  const properties = action.properties ?? {};
  if (action.kind !== 'deadLetter') return { properties };
  const { reason, description } = action;
  return {
    properties: {
      ...properties,
      ...reasonProperties(reason, description),
    },
  };
}

function reasonProperties(reason?: string, description?: string): Properties {
  return {
    ...(reason === undefined ? {} : { DeadLetterReason: text(reason) }),
    ...(description === undefined ? {} : { DeadLetterErrorDescription: text(description) }),
  };
}
