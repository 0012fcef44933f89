import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { addressGroup, type Rate, RateLimit } from '../shared/domain/budgets/rate-limit.ts';

/** What connections from one address may be. */
export interface ConnectionRates {
  /** Connections that are open at once. */
  readonly openConnections: number;
  readonly newConnections: Rate;
}

/** Bounds the connections from one address: how many there are, and how fast new ones come. */
export class ConnectionLimits {
  readonly #rates: ConnectionRates;
  readonly #beginning: RateLimit;
  /** Addresses that have any; those that have none are not kept. */
  readonly #open = new Map<string, number>();
  readonly #now: () => number;
  #refused = 0;

  /** `now` = monotonic ms. */
  constructor(rates: ConnectionRates, now: () => number) {
    this.#rates = rates;
    this.#beginning = new RateLimit(rates.newConnections, BUDGETS.rateBuckets);
    this.#now = now;
  }

  /** Connections that were refused since this was last asked. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }

  /** Lets one connection in; returns what to call when it has ended, or undefined where it may not. */
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
