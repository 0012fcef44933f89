import { BUDGETS } from '../../shared/domain/budgets.ts';
import type { Disposition } from '../wire/performatives.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { OutgoingDelivery, OutgoingLink } from './outgoing-link.ts';

const { deliveryBytes } = BUDGETS.weights;
const { deliveriesPerFrame } = BUDGETS.connection;

/** A delivery that was sent and that the peer has not settled. */
export interface Unsettled extends OutgoingDelivery {
  readonly link: OutgoingLink;
}

/** The deliveries of one session that the peer has not settled, counted as what the connection holds. */
export class UnsettledDeliveries {
  readonly #limits: ConnectionLimits;
  readonly #byId = new Map<number, Unsettled>();
  readonly #byLink = new Map<OutgoingLink, Set<number>>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** False, with nothing noted, where the connection may hold no more. */
  add(delivery: Unsettled): boolean {
    if (!this.#limits.tryHold(deliveryBytes)) return false;
    const { id, link } = delivery;
    this.#byId.set(id, delivery);
    const ids = this.#byLink.get(link) ?? new Set();
    this.#byLink.set(link, ids.add(id));
    return true;
  }

  delete(id: number): void {
    const delivery = this.#byId.get(id);
    if (delivery === undefined) return;
    this.#byId.delete(id);
    const ids = this.#byLink.get(delivery.link);
    ids?.delete(id);
    if (ids?.size === 0) this.#byLink.delete(delivery.link);
    this.#limits.release(deliveryBytes);
  }

  /** Forgets those of a link that has ended. */
  deleteOf(link: OutgoingLink): void {
    for (const id of [...(this.#byLink.get(link) ?? [])]) this.delete(id);
  }

  clear(): void {
    this.#limits.release(this.#byId.size * deliveryBytes);
    this.#byId.clear();
    this.#byLink.clear();
  }

  /** What takes in a disposition: each call some of its deliveries, until one tells that these were all. */
  disposing({ first, last = first, settled, state }: Disposition): () => boolean {
    const deliveries = this.#within(first, last);
    // In a transaction the outcome is not the last word, unless the peer says so.
    const isLastWord = settled || state?.kind !== 'transactional';
    let next = 0;
    return () => {
      const end = next + deliveriesPerFrame;
      for (const delivery of deliveries.slice(next, end)) {
        // It may have been settled since the call before.
        if (!this.#byId.has(delivery.id)) continue;
        if (isLastWord) this.delete(delivery.id);
        delivery.link.disposed(delivery, state);
      }
      next = end;
      return next >= deliveries.length;
    };
  }

  /** Those from one id to another, by the shorter way: a range may name billions. */
  #within(first: number, last: number): readonly Unsettled[] {
    const length = ((last - first) >>> 0) + 1;
    this.#limits.searched(Math.min(length, this.#byId.size));
    if (length <= this.#byId.size) {
      return Array.from({ length }, (_, i) => this.#byId.get((first + i) >>> 0)).filter(
        (delivery) => delivery !== undefined,
      );
    }
    return [...this.#byId.values()].filter(({ id }) => (id - first) >>> 0 < length);
  }
}
