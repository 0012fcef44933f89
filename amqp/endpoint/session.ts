import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type {
  Attach,
  Begin,
  Detach,
  Disposition,
  Flow,
  Performative,
  Transfer,
} from '../wire/performatives.ts';
import { distance } from '../wire/serial.ts';
import { AmqpError } from '../wire/wire-error.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { IncomingLink } from './incoming-link.ts';
import { LinkNames } from './link-names.ts';
import type { Outbox } from './outbox.ts';
import { OutgoingLink, type OutgoingMessage, type SendingHost } from './outgoing-link.ts';
import { UnsettledDeliveries } from './unsettled.ts';
import { type QueueHost, WindowQueue } from './window-queue.ts';

/** Transfers we take before we say that we take more. */
const INCOMING_WINDOW = 2048;
const OUTGOING_WINDOW = 0x7fffffff;
/** More links need more sessions. */
const HANDLE_MAX = BUDGETS.connection.sessionLinks - 1;
/** What a transfer may take beside its payload. */
const TRANSFER_BYTES_MAX = 128;

/** What a session needs of its connection. */
export interface SessionHost extends QueueHost {
  /** The largest frame that the peer takes. */
  readonly maxFrameSize: number;
  /** What goes out on the connection. */
  readonly outgoing: Pick<Outbox, 'mayGoOn' | 'forget'>;
  send(channel: number, performative: Performative, payload?: Uint8Array): void;
  linked(link: IncomingLink | OutgoingLink): void;
  /**
   * Does the work of a frame in steps until one tells that it was the last; each counts as a frame. The
   * next frame waits for them.
   */
  inSteps(step: () => boolean): void;
}

/** Counts transfers on both ways, and leads what comes in to the link that it is for. */
export class Session implements SendingHost {
  readonly #channel: number;
  readonly #host: SessionHost;
  readonly #links = new Map<number, IncomingLink | OutgoingLink>();
  readonly #names = new LinkNames();
  readonly #unsettled: UnsettledDeliveries;
  readonly #queue: WindowQueue;
  readonly #goOn = () => this.#queue.proceed();
  #nextIncomingId: number;
  #incomingWindow = INCOMING_WINDOW;
  #nextOutgoingId = 0;
  #remoteWindow: number;
  #nextDeliveryId = 0;
  #isLost = false;

  constructor(channel: number, begin: Begin, host: SessionHost) {
    this.#channel = channel;
    this.#host = host;
    this.#queue = new WindowQueue(host);
    this.#unsettled = new UnsettledDeliveries(host.limits);
    this.#nextIncomingId = begin.nextOutgoingId;
    this.#remoteWindow = begin.incomingWindow;
    this.send({
      kind: 'begin',
      remoteChannel: channel,
      nextOutgoingId: this.#nextOutgoingId,
      incomingWindow: INCOMING_WINDOW,
      outgoingWindow: OUTGOING_WINDOW,
      handleMax: HANDLE_MAX,
    });
  }

  get limits(): ConnectionLimits {
    return this.#host.limits;
  }

  send(performative: Performative, payload?: Uint8Array): void {
    if (!this.#isLost) this.#host.send(this.#channel, performative, payload);
  }

  /**
   * What the peer says; `weight` = bytes that it takes once it is decoded. Throws AmqpError where the
   * peer may not say so.
   */
  handle(performative: Performative, payload: Uint8Array, weight: number): void {
    switch (performative.kind) {
      case 'attach':
        this.#attach(performative, weight);
        return;
      case 'detach':
        this.#detach(performative);
        return;
      case 'flow':
        this.#flow(performative);
        return;
      case 'transfer':
        this.#transfer(performative, payload);
        return;
      case 'disposition':
        this.#disposition(performative);
        return;
      default:
        throw new AmqpError('amqp:not-allowed', `A session knows no '${performative.kind}' here.`);
    }
  }

  /** Lets the peer know what was held back. */
  release(): void {
    for (const link of this.#links.values()) if (link instanceof IncomingLink) link.release();
  }

  /**
   * The peer ends the session. Resolves when its links are done with: some clients end a link and its
   * session at once, and wait for the answers to both.
   */
  async ended(): Promise<void> {
    this.#queue.clear();
    this.#host.outgoing.forget(this.#goOn);
    this.#unsettled.clear();
    await Promise.all(Array.from(this.#links.values(), (link) => link.lost()));
  }

  /** The connection is gone. */
  lost(): void {
    this.#isLost = true;
    void this.ended();
    for (const _ of this.#links) this.limits.unlinked();
    this.#links.clear();
    this.#names.clear();
  }

  forget(handle: number): void {
    const link = this.#links.get(handle);
    if (link === undefined) return;
    this.#links.delete(handle);
    this.#names.delete(link, link.asked);
    this.limits.unlinked();
  }

  flow(link?: { handle: number; deliveryCount: number; linkCredit: number; drain: boolean }): void {
    this.send({
      kind: 'flow',
      nextIncomingId: this.#nextIncomingId,
      incomingWindow: this.#incomingWindow,
      nextOutgoingId: this.#nextOutgoingId,
      outgoingWindow: OUTGOING_WINDOW,
      ...link,
    });
  }

  transfer(link: OutgoingLink, message: OutgoingMessage): number {
    const id = this.#nextDeliveryId;
    this.#nextDeliveryId = (id + 1) >>> 0;
    const { tag, settled, dropped = () => {} } = message;
    if (!settled && !this.#unsettled.add({ id, tag, link })) {
      const description = 'Too many messages were received and not settled.';
      dropped();
      this.#host.close({ condition: 'amqp:resource-limit-exceeded', description });
      return id;
    }
    let sent = 0;
    const proceed = () => {
      if (!link.isOpen) {
        // The detach has ended what had begun; its handle may be another link's by now.
        dropped();
        return true;
      }
      sent = this.#sendParts(link, id, message, sent);
      return sent >= message.payload.byteLength;
    };
    this.#wait(message.payload.byteLength + TRANSFER_BYTES_MAX, proceed, dropped);
    return id;
  }

  settled(id: number): void {
    this.#unsettled.delete(id);
  }

  afterTransfers(work: () => void): void {
    this.#wait(TRANSFER_BYTES_MAX, () => {
      const mayGoOn = this.#host.outgoing.mayGoOn(this.#goOn);
      if (mayGoOn) work();
      return mayGoOn;
    });
  }

  #wait(bytes: number, proceed: () => boolean, dropped = () => {}): void {
    if (this.#isLost) dropped();
    else this.#queue.add(bytes, proceed, dropped);
  }

  #sendParts(link: OutgoingLink, deliveryId: number, message: OutgoingMessage, from: number) {
    const { tag, payload, settled } = message;
    const part = this.#host.maxFrameSize - TRANSFER_BYTES_MAX;
    let at = from;
    while (this.#remoteWindow > 0 && this.#host.outgoing.mayGoOn(this.#goOn)) {
      const end = Math.min(at + part, payload.byteLength);
      const more = end < payload.byteLength;
      this.#remoteWindow--;
      this.#nextOutgoingId = (this.#nextOutgoingId + 1) >>> 0;
      const transfer: Transfer = {
        kind: 'transfer',
        handle: link.asked.handle,
        deliveryId,
        deliveryTag: tag,
        messageFormat: 0,
        settled,
        more,
      };
      this.send(transfer, payload.subarray(at, end));
      at = end;
      if (!more) break;
    }
    return at;
  }

  #attach(attach: Attach, weight: number): void {
    if (attach.handle > HANDLE_MAX) {
      throw new AmqpError('amqp:session:errant-link', 'The handle is larger than the session has.');
    }
    if (this.#links.has(attach.handle)) {
      throw new AmqpError('amqp:session:handle-in-use', 'The handle belongs to another link.');
    }
    this.#steal(attach);
    this.limits.linked();
    const link =
      attach.role === 'sender'
        ? new IncomingLink(attach, this, weight)
        : new OutgoingLink(attach, this, weight);
    this.#links.set(attach.handle, link);
    this.#names.add(link, attach);
    this.#host.linked(link);
  }

  /** Who takes a name again has lost the older link (part 2.6.1). */
  #steal(attach: Attach): void {
    for (const link of this.#names.of(attach)) {
      link.detach({ condition: 'amqp:link:stolen', description: 'Its name was taken again.' });
      // One that is not answered yet can be taken once it is.
      if (!link.isAsked) this.#names.delete(link, attach);
    }
  }

  #detach({ handle }: Detach): void {
    const link = this.#link(handle);
    link.detachedByPeer();
    if (link instanceof OutgoingLink) this.#host.inSteps(this.#unsettled.forgetting(link));
  }

  #flow(flow: Flow): void {
    const { nextIncomingId, incomingWindow, handle } = flow;
    // Before its first frame from us the peer does not know our numbers; they begin at 0.
    this.#remoteWindow = incomingWindow - distance(nextIncomingId ?? 0, this.#nextOutgoingId);
    this.#queue.proceed();
    if (handle !== undefined) this.#link(handle).flowed(flow);
    else if (flow.echo) this.flow();
  }

  #transfer(transfer: Transfer, payload: Uint8Array): void {
    this.#nextIncomingId = (this.#nextIncomingId + 1) >>> 0;
    this.#incomingWindow--;
    if (this.#incomingWindow < 0) {
      throw new AmqpError('amqp:session:window-violation', 'More was sent than the window allows.');
    }
    const link = this.#link(transfer.handle);
    if (link instanceof OutgoingLink) {
      throw new AmqpError('amqp:not-allowed', 'A transfer came on a link that only receives.');
    }
    link.transfer(transfer, payload);
    if (this.#incomingWindow <= INCOMING_WINDOW / 2) {
      this.#incomingWindow = INCOMING_WINDOW;
      this.flow();
    }
  }

  #disposition(said: Disposition): void {
    const { role, settled, state } = said;
    // Of what the peer sent, we tell the outcome and settle at once: nothing is left to hear.
    if (role === 'sender') return;
    // A state that is no end asks for nothing; a message settled without one is given up.
    if (!settled && (state === undefined || state.kind === 'other')) return;
    this.#host.inSteps(this.#unsettled.disposing(said));
  }

  #link(handle: number): IncomingLink | OutgoingLink {
    const link = this.#links.get(handle);
    if (link === undefined) {
      throw new AmqpError('amqp:session:unattached-handle', 'No link has this handle.');
    }
    return link;
  }
}
