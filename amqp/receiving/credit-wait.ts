import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';

/** How long to wait at most for more credit from a peer that grants it in small steps. */
const WAIT_MS_MAX = 10;

/**
 * The wait of a link for more credit. A peer that has more unsettled messages than credit grants more soon, and to
 * claim for all of it costs one write. The broker cannot wait for that: to it, a link is one caller.
 */
export class CreditWait {
  readonly #scheduler: Scheduler;
  readonly #link: Pick<OutgoingLink, 'credit' | 'withoutDisposition' | 'isDraining'>;
  #end = () => {};

  constructor(
    scheduler: Scheduler,
    link: Pick<OutgoingLink, 'credit' | 'withoutDisposition' | 'isDraining'>,
  ) {
    this.#scheduler = scheduler;
    this.#link = link;
  }

  /** Waits until the credit covers what the peer has not settled, for a short time at most. */
  async ended(): Promise<void> {
    if (this.#isOver) return;
    await new Promise<void>((resolve) => {
      const timer = this.#scheduler.after(WAIT_MS_MAX, resolve);
      this.#end = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Ends the wait if the credit is enough now. */
  check(): void {
    if (this.#isOver) this.#end();
  }

  get #isOver(): boolean {
    const { credit, withoutDisposition, isDraining } = this.#link;
    return credit >= withoutDisposition || isDraining;
  }
}
