import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Disposition } from '../wire/performatives.ts';
import { distance } from '../wire/serial.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { OutgoingDelivery, OutgoingLink } from './outgoing-link.ts';

const { deliveryBytes } = BUDGETS.weights;
const { deliveriesPerFrame } = BUDGETS.connection;

/** A delivery that was sent unsettled and that neither side has settled yet. */
export interface Unsettled extends OutgoingDelivery {
  readonly link: OutgoingLink;
}

/**
 * The unsettled deliveries of one session; no other session can settle them (semantics #17). They count as memory of
 * the connection.
 */
export class UnsettledDeliveries {
  readonly #limits: ConnectionLimits;
  readonly #byId = new Map<number, Unsettled>();
  readonly #byLink = new Map<OutgoingLink, Set<number>>();
  /** The id of the newest delivery. */
  #newest = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Adds a delivery. Returns false, without adding it, if the connection may hold no more memory. */
  add(delivery: Unsettled): boolean {
    if (!this.#limits.tryHold(deliveryBytes)) return false;
    const { id, link } = delivery;
    this.#newest = id;
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

  /** Returns a step that forgets some deliveries of an ended link; it returns true after the last of them. */
  forgetLink(link: OutgoingLink): () => boolean {
    const ids = this.#byLink.get(link) ?? new Set();
    return stepThrough(ids.values(), (id) => this.delete(id));
  }

  clear(): void {
    this.#limits.release(this.#byId.size * deliveryBytes);
    this.#byId.clear();
    this.#byLink.clear();
  }

  /** Returns a step that applies a disposition to some of its deliveries, in the same way. */
  dispose({ first, last = first, settled, state }: Disposition): () => boolean {
    // A transactional outcome is provisional, unless the peer settles with it.
    const isFinal = settled || state?.kind !== 'transactional';
    return stepThrough(this.#within(first, last, this.#newest), (delivery) => {
      if (delivery === undefined) return;
      if (isFinal) this.delete(delivery.id);
      delivery.link.disposed(delivery, state);
    });
  }

  /**
   * Yields the deliveries from one id to another. A range may span billions of ids, so this visits either
   * the ids or the deliveries, whichever are fewer, and yields undefined for each visit without a match.
   * Excludes deliveries sent after `newest`, between two steps.
   */
  *#within(
    first: number,
    last: number,
    newest: number,
  ): Generator<Unsettled | undefined, undefined> {
    const length = ((last - first) >>> 0) + 1;
    const isInRange = (id: number) => (id - first) >>> 0 < length && distance(newest, id) <= 0;
    if (length <= this.#byId.size) {
      for (let id = first; isInRange(id); id = (id + 1) >>> 0) yield this.#byId.get(id);
    } else {
      for (const delivery of this.#byId.values())
        yield isInRange(delivery.id) ? delivery : undefined;
    }
  }
}

/** Returns a step that processes a bounded number of entries of a list, and returns true at its end. */
function stepThrough<Entry>(
  list: Iterator<Entry, undefined>,
  work: (entry: Entry) => void,
): () => boolean {
  return () => {
    for (let count = 0; count < deliveriesPerFrame; count++) {
      const next = list.next();
      if (next.done === true) return true;
      work(next.value);
    }
    return false;
  };
}
