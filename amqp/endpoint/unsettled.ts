import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Disposition } from '../wire/performatives.ts';
import { distance } from '../wire/serial.ts';
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
  /** The id of the last one that went out. */
  #last = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** False, with nothing noted, where the connection may hold no more. */
  add(delivery: Unsettled): boolean {
    if (!this.#limits.tryHold(deliveryBytes)) return false;
    const { id, link } = delivery;
    this.#last = id;
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

  /** What forgets those of a link that has ended: each call some of them, until one tells that these were all. */
  forgetting(link: OutgoingLink): () => boolean {
    const ids = this.#byLink.get(link) ?? new Set();
    return inSteps(ids.values(), (id) => this.delete(id));
  }

  clear(): void {
    this.#limits.release(this.#byId.size * deliveryBytes);
    this.#byId.clear();
    this.#byLink.clear();
  }

  /** What takes in a disposition, in the same way. */
  disposing({ first, last = first, settled, state }: Disposition): () => boolean {
    // In a transaction the outcome is not the last word, unless the peer says so.
    const isLastWord = settled || state?.kind !== 'transactional';
    return inSteps(this.#within(first, last, this.#last), (delivery) => {
      if (delivery === undefined) return;
      if (isLastWord) this.delete(delivery.id);
      delivery.link.disposed(delivery, state);
    });
  }

  /**
   * Those from one id to another, by the shorter way: a range may name billions. What goes out after the
   * newest, between the steps, is not meant. Undefined stands for each that was looked at in vain.
   */
  *#within(
    first: number,
    last: number,
    newest: number,
  ): Generator<Unsettled | undefined, undefined> {
    const length = ((last - first) >>> 0) + 1;
    const isMeant = (id: number) => (id - first) >>> 0 < length && distance(newest, id) <= 0;
    if (length <= this.#byId.size) {
      for (let id = first; isMeant(id); id = (id + 1) >>> 0) yield this.#byId.get(id);
    } else {
      for (const delivery of this.#byId.values()) yield isMeant(delivery.id) ? delivery : undefined;
    }
  }
}

/** Works through a list, so much of it in each call, until one tells that this was all. */
function inSteps<Entry>(
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
