import { BUDGETS } from '../../shared/domain/budgets.ts';
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
  send(channel: number, performative: Performative, payload?: Uint8Array): void;
  linked(link: IncomingLink | OutgoingLink): void;
}

/** Counts transfers on both ways, and leads what comes in to the link that it is for. */
export class Session implements SendingHost {
  readonly #channel: number;
  readonly #host: SessionHost;
  readonly #links = new Map<number, IncomingLink | OutgoingLink>();
  readonly #unsettled: UnsettledDeliveries;
  readonly #queue: WindowQueue;
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

  get maxFrameSize(): number {
    return this.#host.maxFrameSize;
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
    this.#unsettled.clear();
    await Promise.all(Array.from(this.#links.values(), (link) => link.lost()));
  }

  /** The connection is gone. */
  lost(): void {
    this.#isLost = true;
    void this.ended();
    for (const _ of this.#links) this.limits.unlinked();
    this.#links.clear();
  }

  forget(handle: number): void {
    if (this.#links.delete(handle)) this.limits.unlinked();
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
    const { tag, settled } = message;
    if (!settled && !this.#unsettled.add({ id, tag, link })) {
      const description = 'Too many messages were received and not settled.';
      this.#host.close({ condition: 'amqp:resource-limit-exceeded', description });
      return id;
    }
    let sent = 0;
    this.#wait(message.payload.byteLength + TRANSFER_BYTES_MAX, () => {
      // A part of a message cannot be taken back, so what has begun goes on.
      if (!link.isOpen && sent === 0) return true;
      sent = this.#sendParts(link, id, message, sent);
      return sent >= message.payload.byteLength;
    });
    return id;
  }

  settled(id: number): void {
    this.#unsettled.delete(id);
  }

  afterTransfers(work: () => void): void {
    this.#wait(TRANSFER_BYTES_MAX, () => {
      work();
      return true;
    });
  }

  #wait(bytes: number, proceed: () => boolean): void {
    if (!this.#isLost) this.#queue.add(bytes, proceed);
  }

  #sendParts(link: OutgoingLink, deliveryId: number, message: OutgoingMessage, from: number) {
    const { tag, payload, settled } = message;
    const part = this.#host.maxFrameSize - TRANSFER_BYTES_MAX;
    let at = from;
    while (this.#remoteWindow > 0) {
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
    this.#host.linked(link);
  }

  /** A name leads to one link in each direction; who takes it again has lost the older (part 2.6.1). */
  #steal({ name, role }: Attach): void {
    for (const link of this.#links.values()) {
      if (link.name !== name || link.asked.role !== role) continue;
      link.detach({ condition: 'amqp:link:stolen', description: 'Its name was taken again.' });
    }
  }

  #detach({ handle }: Detach): void {
    const link = this.#link(handle);
    link.detachedByPeer();
    if (link instanceof OutgoingLink) this.#unsettled.deleteOf(link);
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

  #disposition({ role, first, last = first, settled, state }: Disposition): void {
    // Of what the peer sent, we tell the outcome and settle at once: nothing is left to hear.
    if (role === 'sender') return;
    // A state that is no end asks for nothing; a message settled without one is given up.
    if (!settled && (state === undefined || state.kind === 'other')) return;
    for (const delivery of this.#unsettled.within(first, last)) {
      // In a transaction the outcome is not the last word, unless the peer says so.
      if (settled || state?.kind !== 'transactional') this.#unsettled.delete(delivery.id);
      delivery.link.disposed(delivery, state);
    }
  }

  #link(handle: number): IncomingLink | OutgoingLink {
    const link = this.#links.get(handle);
    if (link === undefined) {
      throw new AmqpError('amqp:session:unattached-handle', 'No link has this handle.');
    }
    return link;
  }
}
