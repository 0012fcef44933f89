import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import { addressOf } from './address.ts';

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

  /** Sends an answer; one that nobody waits for any more is dropped. */
  send(to: string, payload: Uint8Array): void {
    const [link] = this.#links.get(to) ?? [];
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
