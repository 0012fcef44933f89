import type { Delivery } from '../delivery.ts';
import type { Call, History } from '../history.ts';
import type { World } from '../world.ts';

/** A delivery and the call that returned it. */
export interface Delivered {
  readonly call: Call;
  readonly delivery: Delivery;
}

/** All deliveries of a history. */
export function deliveriesOf(history: History): readonly Delivered[] {
  return history.calls.flatMap((call) => call.deliveries.map((delivery) => ({ call, delivery })));
}

/** Operations that end locks, apart from settlements. */
export const LOCK_ENDERS = ['update', 'delete', 'release', 'purge'] as const;

/** The latest possible expiry of a lock, epoch ms. */
export function lastsUntil(history: History, { lockToken, lockedUntil = 0 }: Delivery): number {
  const renewals = history
    .of('renew')
    .filter(({ delivery }) => delivery?.lockToken === lockToken)
    .map((call) =>
      call.outcome === 'unknown' ? Number.POSITIVE_INFINITY : (call.lockedUntil ?? 0),
    );
  return Math.max(lockedUntil, ...renewals);
}

/** The earliest possible expiry of a lock, by the answered renewals, epoch ms. */
export function surelyLastsUntil(
  history: History,
  { lockToken, lockedUntil = 0 }: Delivery,
): number {
  const renewals = history
    .of('renew')
    .filter(({ delivery, outcome }) => delivery?.lockToken === lockToken && outcome === 'done');
  return Math.max(lockedUntil, ...renewals.map((call) => call.lockedUntil ?? 0));
}

/** The settlements of a delivery that may have taken effect. */
export function settlementsOf(history: History, { lockToken }: Delivery): readonly Call[] {
  return history.calls.filter(
    ({ kind, delivery, outcome }) =>
      delivery?.lockToken === lockToken && kind !== 'renew' && outcome !== 'refused',
  );
}

/** The maximum delivery count of a path. */
export function maxDeliveriesOf({ entities }: World, path: string): number {
  const settings = entities[path];
  if (settings === undefined || settings.kind === 'topic') return Number.POSITIVE_INFINITY;
  return settings.maxDeliveryCount ?? DEFAULT_MAX;
}

/** The default maximum delivery count. */
const DEFAULT_MAX = 10;

/** All pairs of values. */
export function pairsOf<Value>(values: readonly Value[]): readonly (readonly [Value, Value])[] {
  return values.flatMap((a, i) => values.slice(i + 1).map((b) => [a, b] as const));
}
