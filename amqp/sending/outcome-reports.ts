import type { IncomingDelivery } from '../endpoint/incoming-link.ts';
import { settleAdjacent } from '../endpoint/settle-adjacent.ts';
import type { Outcome } from '../wire/states.ts';

/** What reports outcomes to the peer. */
interface Reporter {
  readonly link: Parameters<typeof settleAdjacent<IncomingDelivery>>[0];
  /** Sends what was reported, now. */
  readonly sendNow: () => void;
}

/**
 * Reports the outcomes of a link's deliveries to the peer as they become known. Those of one write become known
 * together, and share frames where they are the same.
 */
export class OutcomeReports {
  readonly #reporter: Reporter;
  #deliveries: IncomingDelivery[] = [];
  #outcomes: Outcome[] = [];
  #reporting: Promise<void> | undefined;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** Adds an outcome; resolves when it is reported. */
  add(delivery: IncomingDelivery, outcome: Outcome): Promise<void> {
    this.#deliveries.push(delivery);
    this.#outcomes.push(outcome);
    this.#reporting ??= Promise.resolve().then(() => this.#report());
    return this.#reporting;
  }

  #report(): void {
    const deliveries = this.#deliveries;
    const outcomes = this.#outcomes;
    this.#deliveries = [];
    this.#outcomes = [];
    this.#reporting = undefined;
    settleAdjacent(this.#reporter.link, deliveries, outcomes);
    this.#reporter.sendNow();
  }
}
