import type { Outcome } from '../wire/states.ts';

/** A link that reports outcomes of deliveries to its peer, one frame for each call with adjacent deliveries. */
interface SettlingLink<Delivery> {
  settle(deliveries: readonly Delivery[], outcome: Outcome): void;
}

/** Reports the outcome of each delivery. Adjacent ones with the same outcome share a frame. */
export function settleAdjacent<Delivery>(
  link: SettlingLink<Delivery>,
  deliveries: readonly Delivery[],
  outcomes: readonly Outcome[],
): void {
  let from = 0;
  for (let i = 1; i <= deliveries.length; i++) {
    const before = outcomes[i - 1];
    if (before === undefined || (i < deliveries.length && isSame(before, outcomes[i]))) continue;
    link.settle(deliveries.slice(from, i), before);
    from = i;
  }
}

function isSame(one: Outcome, other: Outcome | undefined): boolean {
  return one === other || (one.kind === 'accepted' && other?.kind === 'accepted');
}
