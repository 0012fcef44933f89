import type { Delivery } from '../delivery.ts';
import type { Call, History } from '../history.ts';
import type { World } from '../world.ts';

/** A delivery, and the call that it was an answer to. */
export interface Delivered {
  readonly call: Call;
  readonly delivery: Delivery;
}

/** All deliveries of a history. */
export function deliveriesOf(history: History): readonly Delivered[] {
  return history.calls.flatMap((call) => call.deliveries.map((delivery) => ({ call, delivery })));
}

/** Ends of locks by something other than time and settlements. */
export const LOCK_ENDERS = ['update', 'delete', 'release', 'purge'] as const;

/** Until when a lock lasted at most, epoch ms. */
export function lastsUntil(history: History, { lockToken, lockedUntil = 0 }: Delivery): number {
  const renewals = history
    .of('renew')
    .filter(({ delivery }) => delivery?.lockToken === lockToken)
    .map((call) => (call.heard === 'unknown' ? Number.POSITIVE_INFINITY : (call.lockedUntil ?? 0)));
  return Math.max(lockedUntil, ...renewals);
}

/** Until when a lock lasted at least where nothing else ended it, epoch ms: renewals count that were answered. */
export function surelyLastsUntil(
  history: History,
  { lockToken, lockedUntil = 0 }: Delivery,
): number {
  const renewals = history
    .of('renew')
    .filter(({ delivery, heard }) => delivery?.lockToken === lockToken && heard === 'done');
  return Math.max(lockedUntil, ...renewals.map((call) => call.lockedUntil ?? 0));
}

/** The settlements of one delivery that may have been carried out. */
export function settlementsOf(history: History, { lockToken }: Delivery): readonly Call[] {
  return history.calls.filter(
    ({ kind, delivery, heard }) =>
      delivery?.lockToken === lockToken && kind !== 'renew' && heard !== 'refused',
  );
}

/** How often a message is handed out at most. */
export function maxDeliveriesOf({ entities }: World, path: string): number {
  const settings = entities[path];
  if (settings === undefined || settings.kind === 'topic') return Number.POSITIVE_INFINITY;
  return settings.maxDeliveryCount ?? USUAL_MAX;
}

/** How often a queue does unless its settings say otherwise. */
const USUAL_MAX = 10;

/** Each two of some. */
export function pairsOf<Value>(values: readonly Value[]): readonly (readonly [Value, Value])[] {
  return values.flatMap((a, i) => values.slice(i + 1).map((b) => [a, b] as const));
}
