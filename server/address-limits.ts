import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { addressGroup, type Rate, RateLimit } from '../shared/domain/budgets/rate-limit.ts';

/** Limits for the connections of one address. */
export interface ConnectionRates {
  /** Connections open at the same time. */
  readonly openConnections: number;
  readonly newConnections: Rate;
}

/** Bounds how many connections one address has, and how fast it opens new ones. */
export class AddressLimits {
  readonly #rates: ConnectionRates;
  readonly #beginning: RateLimit;
  /** Open connections by address; addresses without any are removed. */
  readonly #open = new Map<string, number>();
  readonly #now: () => number;
  #refused = 0;

  /** `now` = monotonic ms. */
  constructor(rates: ConnectionRates, now: () => number) {
    this.#rates = rates;
    this.#beginning = new RateLimit(rates.newConnections, BUDGETS.rateBuckets);
    this.#now = now;
  }

  /** The number of connections refused since the last call. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }

  /** Admits a connection and returns a function to call at its end; undefined = it is refused. */
  open(address: string): (() => void) | undefined {
    const group = addressGroup(address);
    const open = this.#open.get(group) ?? 0;
    if (open >= this.#rates.openConnections || !this.#beginning.take(group, this.#now())) {
      this.#refused++;
      return undefined;
    }
    this.#open.set(group, open + 1);
    return () => this.#close(group);
  }

  #close(group: string): void {
    const left = (this.#open.get(group) ?? 0) - 1;
    if (left > 0) this.#open.set(group, left);
    else this.#open.delete(group);
  }
}
