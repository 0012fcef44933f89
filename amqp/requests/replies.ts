import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { IncomingLink } from '../endpoint/incoming-link.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import { addressOf, requireShort } from '../service/address.ts';

/**
 * The reply links of one connection. A request names its reply link by the target address that the client
 * gave it, or by its link name. A request without a name is answered on a link of the same session to the
 * same node.
 */
export class Replies {
  /** By link name and by target address, since a request does not say which of the two it names. */
  readonly #byName = new Map<string, Set<ReplyLink>>();
  readonly #bySession = new Map<object, Map<string, Set<ReplyLink>>>();

  /**
   * Accepts a link on which the peer receives the replies of a node. Throws ArgumentError if its address is
   * too long, and AmqpError `amqp:resource-limit-exceeded` if the connection may hold no more memory.
   */
  add(link: OutgoingLink, node: string): void {
    const { session } = link;
    const address = addressOf(link.attach.target) ?? link.name;
    requireShort(address);
    link.holdText(address);
    const ofSession = this.#bySession.get(session) ?? new Map<string, Set<ReplyLink>>();
    this.#bySession.set(session, ofSession);
    const reply = new ReplyLink(link);
    const names = new Set([link.name, address]);
    for (const name of names) addTo(this.#byName, name, reply);
    addTo(ofSession, node, reply);
    link.onEnd(() => {
      for (const name of names) removeFrom(this.#byName, name, reply);
      removeFrom(ofSession, node, reply);
      if (ofSession.size === 0) this.#bySession.delete(session);
      reply.end();
    });
    link.accept();
  }

  /**
   * Sends the reply to a request that came on a link to a node; `to` = the reply link that it names. Drops
   * the reply if there is no such link any more.
   */
  send(
    { link, node }: { readonly link: IncomingLink; readonly node: string },
    to: string | undefined,
    payload: Uint8Array,
  ): void {
    const links =
      to === undefined ? this.#bySession.get(link.session)?.get(node) : this.#byName.get(to);
    const [reply] = links ?? [];
    reply?.send(payload);
  }
}

function addTo(links: Map<string, Set<ReplyLink>>, key: string, reply: ReplyLink): void {
  links.set(key, (links.get(key) ?? new Set()).add(reply));
}

function removeFrom(links: Map<string, Set<ReplyLink>>, key: string, reply: ReplyLink): void {
  const ofKey = links.get(key);
  ofKey?.delete(reply);
  if (ofKey?.size === 0) links.delete(key);
}

/** A link for replies, which queues them until the client grants credit. */
class ReplyLink {
  readonly #link: OutgoingLink;
  readonly #waiting: Uint8Array[] = [];
  #sent = 0;

  constructor(link: OutgoingLink) {
    this.#link = link;
    link.onFlow(() => this.#sendWaiting());
  }

  /** Sends a reply, or queues it until there is credit. Drops the oldest replies if the queue is full. */
  send(payload: Uint8Array): void {
    if (this.#waiting.length >= BUDGETS.connection.waitingAnswers) this.#takeNext();
    while (!this.#link.limits.tryHold(payload.byteLength)) {
      if (this.#takeNext() === undefined) return;
    }
    this.#waiting.push(payload);
    this.#sendWaiting();
  }

  /** Drops queued replies, since the link has ended. */
  end(): void {
    while (this.#takeNext() !== undefined);
  }

  #takeNext(): Uint8Array | undefined {
    const payload = this.#waiting.shift();
    if (payload !== undefined) this.#link.limits.release(payload.byteLength);
    return payload;
  }

  #sendWaiting(): void {
    while (this.#link.credit > 0) {
      const payload = this.#takeNext();
      if (payload === undefined) break;
      const tag = Buffer.alloc(4);
      tag.writeUInt32BE(this.#sent++ >>> 0);
      this.#link.deliver({ tag, payload, settled: true });
    }
    this.#link.drained();
  }
}
