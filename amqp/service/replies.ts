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
  /** By both, since nobody says which it is. */
  readonly #links = new Map<string, Set<ReplyLink>>();

  add(link: OutgoingLink): void {
    const reply = new ReplyLink(link);
    const names = [link.name, addressOf(link.asked.target) ?? link.name];
    for (const name of names) {
      const links = this.#links.get(name) ?? new Set();
      this.#links.set(name, links.add(reply));
    }
    link.onEnd(() => {
      for (const name of names) {
        const links = this.#links.get(name);
        links?.delete(reply);
        if (links?.size === 0) this.#links.delete(name);
      }
    });
    link.accept();
  }

  /** Sends an answer to what came on a link; one that nobody waits for any more is dropped. */
  send(asking: IncomingLink, to: string | undefined, payload: Uint8Array): void {
    const [link] = to === undefined ? this.#beside(asking) : (this.#links.get(to) ?? []);
    link?.send(payload);
  }

  #beside(asking: IncomingLink): readonly ReplyLink[] {
    const all = [...this.#links.values()].flatMap((links) => [...links]);
    return all.filter((one) => one.isBeside(asking));
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
