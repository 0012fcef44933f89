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
import { OutgoingLink, type OutgoingTransfer, type SendingHost } from './outgoing-link.ts';
import { UnsettledDeliveries } from './unsettled.ts';
import { type QueueHost, WindowQueue } from './window-queue.ts';

/** Our incoming window: transfers that the peer may send before we renew it. */
const INCOMING_WINDOW = 2048;
const OUTGOING_WINDOW = 0x7fffffff;
/** A client that needs more links opens more sessions. */
const HANDLE_MAX = BUDGETS.connection.sessionLinks - 1;
/** The maximum size of a transfer frame without its payload. */
const TRANSFER_BYTES_MAX = 128;

/** What a session needs of its connection. */
export interface SessionHost extends QueueHost {
  /** The largest frame that the peer accepts, bytes. */
  readonly maxFrameSize: number;
  /** The output of the connection. */
  readonly outgoing: Pick<Outbox, 'mayWrite' | 'forget'>;
  send(channel: number, performative: Performative, payload?: Uint8Array): void;
  linked(link: IncomingLink | OutgoingLink): void;
  /**
   * Runs the work of a frame in steps until one returns true. Each step counts as a frame, and the next
   * frame waits for them.
   */
  runInSteps(step: () => boolean): void;
}

/** One session: keeps the windows of both directions and passes frames to their links. */
export class Session implements SendingHost {
  readonly #channel: number;
  readonly #host: SessionHost;
  readonly #links = new Map<number, IncomingLink | OutgoingLink>();
  readonly #names = new LinkNames();
  readonly #unsettled: UnsettledDeliveries;
  readonly #queue: WindowQueue;
  readonly #resumeQueue = () => this.#queue.proceed();
  #nextIncomingId: number;
  #incomingWindow = INCOMING_WINDOW;
  #nextOutgoingId = 0;
  #remoteWindow: number;
  #nextDeliveryId = 0;
  #isGone = false;

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
    if (!this.#isGone) this.#host.send(this.#channel, performative, payload);
  }

  /**
   * Handles a performative of the peer. `decodedBytes` = memory that it takes decoded. Throws AmqpError for a
   * protocol violation or an exceeded limit.
   */
  handle(performative: Performative, payload: Uint8Array, decodedBytes: number): void {
    switch (performative.kind) {
      case 'attach':
        this.#attach(performative, decodedBytes);
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
        throw new AmqpError('amqp:not-allowed', `A session has no '${performative.kind}'.`);
    }
  }

  /** Sends the outcomes that `IncomingLink.holdOutcomes` held back. */
  releaseOutcomes(): void {
    for (const link of this.#links.values())
      if (link instanceof IncomingLink) link.releaseOutcomes();
  }

  /**
   * Ends the links of the session, since the peer or the connection ends it. Resolves when their work is done: some
   * clients detach a link, end its session at once, and wait for the answers to both.
   */
  async endLinks(): Promise<void> {
    this.#queue.clear();
    this.#host.outgoing.forget(this.#resumeQueue);
    this.#unsettled.clear();
    await Promise.all(Array.from(this.#links.values(), (link) => link.end()));
  }

  /** Ends the session without a frame, since it or the connection is gone. */
  discard(): void {
    this.#isGone = true;
    void this.endLinks();
    for (const _ of this.#links) this.limits.linkDetached();
    this.#links.clear();
    this.#names.clear();
  }

  forget(handle: number): void {
    const link = this.#links.get(handle);
    if (link === undefined) return;
    this.#links.delete(handle);
    this.#names.delete(link, link.attach);
    this.limits.linkDetached();
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

  transfer(link: OutgoingLink, message: OutgoingTransfer): number {
    const id = this.#nextDeliveryId;
    this.#nextDeliveryId = (id + 1) >>> 0;
    const { tag, settled, onDropped = () => {} } = message;
    if (!settled && !this.#unsettled.add({ id, tag, link })) {
      const description = 'The connection has too many unsettled messages.';
      onDropped();
      this.#host.close({ condition: 'amqp:resource-limit-exceeded', description });
      return id;
    }
    let sent = 0;
    const proceed = () => {
      if (!link.isOpen) {
        // The detach ended the delivery, and another link may have the handle by now.
        onDropped();
        return true;
      }
      sent = this.#sendParts(link, id, message, sent);
      return sent >= message.payload.byteLength;
    };
    this.#wait(message.payload.byteLength + TRANSFER_BYTES_MAX, proceed, onDropped);
    return id;
  }

  settled(id: number): void {
    this.#unsettled.delete(id);
  }

  afterTransfers(work: () => void): void {
    this.#wait(TRANSFER_BYTES_MAX, () => {
      const mayWrite = this.#host.outgoing.mayWrite(this.#resumeQueue);
      if (mayWrite) work();
      return mayWrite;
    });
  }

  #wait(bytes: number, proceed: () => boolean, onDropped = () => {}): void {
    if (this.#isGone) onDropped();
    else this.#queue.add(bytes, proceed, onDropped);
  }

  #sendParts(link: OutgoingLink, deliveryId: number, message: OutgoingTransfer, from: number) {
    const { tag, payload, settled } = message;
    const part = this.#host.maxFrameSize - TRANSFER_BYTES_MAX;
    let at = from;
    while (this.#remoteWindow > 0 && this.#host.outgoing.mayWrite(this.#resumeQueue)) {
      const end = Math.min(at + part, payload.byteLength);
      const more = end < payload.byteLength;
      this.#remoteWindow--;
      this.#nextOutgoingId = (this.#nextOutgoingId + 1) >>> 0;
      const transfer: Transfer = {
        kind: 'transfer',
        handle: link.attach.handle,
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

  #attach(attach: Attach, decodedBytes: number): void {
    if (attach.handle > HANDLE_MAX) {
      throw new AmqpError('amqp:session:errant-link', 'The handle is larger than the session has.');
    }
    if (this.#links.has(attach.handle)) {
      throw new AmqpError('amqp:session:handle-in-use', 'The handle belongs to another link.');
    }
    this.#steal(attach);
    this.limits.linkAttached();
    const link =
      attach.role === 'sender'
        ? new IncomingLink(attach, this, decodedBytes)
        : new OutgoingLink(attach, this, decodedBytes);
    this.#links.set(attach.handle, link);
    this.#names.add(link, attach);
    this.#host.linked(link);
  }

  /** Detaches older links with the name of a new one (semantics W7; part 2.6.1 of the standard). */
  #steal(attach: Attach): void {
    for (const link of this.#names.of(attach)) {
      link.detach({ condition: 'amqp:link:stolen', description: 'A new link has the same name.' });
      // An attaching link cannot be detached yet. It keeps its name, for the next link to steal.
      if (!link.isAttaching) this.#names.delete(link, attach);
    }
  }

  #detach({ handle }: Detach): void {
    const link = this.#link(handle);
    link.detachedByPeer();
    if (link instanceof OutgoingLink) this.#host.runInSteps(this.#unsettled.forgetLink(link));
  }

  #flow(flow: Flow): void {
    const { nextIncomingId, incomingWindow, handle } = flow;
    // A peer that has no frame of ours yet does not know our transfer ids, which begin at 0.
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

  #disposition(disposition: Disposition): void {
    const { role, settled, state } = disposition;
    // We settle messages of the peer together with their outcome, so its settlement adds nothing.
    if (role === 'sender') return;
    // A state without an outcome requires nothing. A message settled without an outcome is forgotten.
    if (!settled && (state === undefined || state.kind === 'other')) return;
    this.#host.runInSteps(this.#unsettled.dispose(disposition));
  }

  #link(handle: number): IncomingLink | OutgoingLink {
    const link = this.#links.get(handle);
    if (link === undefined) {
      throw new AmqpError('amqp:session:unattached-handle', 'No link has this handle.');
    }
    return link;
  }
}
