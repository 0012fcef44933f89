import type { IncomingDelivery } from '../endpoint/incoming-link.ts';
import type { ReadDelivery } from './read-delivery.ts';

/** The most deliveries of a link, and their bytes, that are decoded and sent at once. One alone may be larger. */
const DELIVERIES_MAX = 100;
const BYTES_MAX = 512 * 1024;

/**
 * The sends of a link whose outcomes are not known yet. Further deliveries wait undecoded, so that they can be aborted.
 */
export class SendsUnderWay {
  readonly #sends = new Set<Promise<void>>();
  #deliveries = 0;
  #bytes = 0;

  /** Adds a send; resolves when its outcomes are reported. */
  add(deliveries: readonly ReadDelivery[], send: Promise<void>): Promise<void> {
    const bytes = deliveries.reduce((sum, { delivery }) => sum + delivery.payload.byteLength, 0);
    this.#deliveries += deliveries.length;
    this.#bytes += bytes;
    const ended = send.finally(() => {
      this.#deliveries -= deliveries.length;
      this.#bytes -= bytes;
      this.#sends.delete(ended);
    });
    this.#sends.add(ended);
    return ended;
  }

  /** Whether a delivery may be sent beside them. */
  hasRoomFor({ payload }: IncomingDelivery): boolean {
    const { deliveries, bytes } = this.room;
    return this.#sends.size === 0 || (deliveries > 0 && payload.byteLength <= bytes);
  }

  /** How much more may be sent beside them. */
  get room(): { readonly deliveries: number; readonly bytes: number } {
    return { deliveries: DELIVERIES_MAX - this.#deliveries, bytes: BYTES_MAX - this.#bytes };
  }

  /** Resolves when one of them has ended. */
  async any(): Promise<void> {
    await Promise.race(this.#sends);
  }
}
