import type { IncomingLink } from '../endpoint/incoming-link.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import { addressOf, addressPath } from './address.ts';

/** Answers that wait for a client that asks but does not listen. */
const WAITING_MAX = 500;

/**
 * The links on which answers to requests go back. A request names one by the address that the client
 * gave it, or by its name.
 */
export class Replies {
  readonly #links = new Set<ReplyLink>();

  add(link: OutgoingLink): void {
    const reply = new ReplyLink(link);
    this.#links.add(reply);
    link.onEnd(() => {
      this.#links.delete(reply);
    });
    link.accept();
  }

  /** Sends an answer to what came on a link; one that nobody waits for any more is dropped. */
  send(asking: IncomingLink, to: string | undefined, payload: Uint8Array): void {
    const link = [...this.#links].find((one) =>
      to === undefined ? one.isBeside(asking) : one.isCalled(to),
    );
    link?.send(payload);
  }
}

class ReplyLink {
  readonly #link: OutgoingLink;
  readonly #waiting: Uint8Array[] = [];
  #sent = 0;

  constructor(link: OutgoingLink) {
    this.#link = link;
    link.onFlow(() => this.#sendWaiting());
  }

  isCalled(name: string): boolean {
    return this.#link.name === name || addressOf(this.#link.asked.target) === name;
  }

  /** Whether it lies in the same session and leads to the same node. */
  isBeside(asking: IncomingLink): boolean {
    const [from, to] = [this.#link.asked.source, asking.asked.target].map((terminus) =>
      addressPath(addressOf(terminus) ?? '').toLowerCase(),
    );
    return this.#link.sharesSession(asking) && from === to;
  }

  send(payload: Uint8Array): void {
    if (this.#waiting.length >= WAITING_MAX) this.#waiting.shift();
    this.#waiting.push(payload);
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    while (this.#link.credit > 0) {
      const payload = this.#waiting.shift();
      if (payload === undefined) break;
      const tag = Buffer.alloc(4);
      tag.writeUInt32BE(this.#sent++ >>> 0);
      this.#link.deliver({ tag, payload, settled: true });
    }
    this.#link.drained();
  }
}
