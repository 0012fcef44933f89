import type { Attach, Flow } from '../wire/performatives.ts';
import { distance } from '../wire/serial.ts';
import type { DeliveryState } from '../wire/states.ts';
import { idRanges } from './incoming-link.ts';
import { type Acceptance, Link, type LinkHost } from './link.ts';

/** A delivery to the peer that is not settled on both sides. */
export interface OutgoingDelivery {
  readonly id: number;
  readonly tag: Uint8Array;
}

/** What a link that sends needs of its session. */
export interface SendingHost extends LinkHost {
  /** Sends a message as soon as the peer's window allows. Returns the delivery id. */
  transfer(link: OutgoingLink, message: OutgoingTransfer): number;
  /** Forgets a delivery that both sides have settled. */
  settled(id: number): void;
  /** Runs work after all messages that wait for the window. */
  afterTransfers(work: () => void): void;
}

/** A message to send as one delivery. */
export interface OutgoingTransfer {
  readonly tag: Uint8Array;
  readonly payload: Uint8Array;
  /** Whether it is sent settled, so that the peer sends no outcome. */
  readonly settled: boolean;
  /** Called if the link, session or connection ends before the whole message was sent. */
  readonly onDropped?: () => void;
}

const UINT_MAX = 0xffff_ffff;

/** A link on which the peer receives messages. */
export class OutgoingLink extends Link {
  readonly #sending: SendingHost;
  #credit = 0;
  #deliveryCount = 0;
  #withoutDisposition = 0;
  #isDraining = false;
  #onFlow: () => void = () => {};
  #onDisposition: (delivery: OutgoingDelivery, state: DeliveryState | undefined) => void = () => {};

  constructor(attach: Attach, host: SendingHost, decodedBytes: number) {
    super(attach, host, decodedBytes);
    this.#sending = host;
  }

  /** The remaining credit: how many messages the peer accepts. */
  get credit(): number {
    return this.#credit;
  }

  /** How many deliveries have no disposition of the peer yet. */
  get withoutDisposition(): number {
    return this.#withoutDisposition;
  }

  /** Whether the peer drains: it wants the messages available now, and then its credit back. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Accepts the attach. Some clients have sent a flow with credit before they receive our attach. */
  override accept(acceptance: Acceptance = {}): void {
    super.accept(acceptance);
    if (this.isOpen && (this.#credit > 0 || this.#isDraining)) this.#onFlow();
  }

  /** Sets the listener for changes of credit or drain. */
  onFlow(listener: () => void): void {
    this.#onFlow = listener;
  }

  /** Sets the listener for dispositions of the peer. */
  onDisposition(
    listener: (delivery: OutgoingDelivery, state: DeliveryState | undefined) => void,
  ): void {
    this.#onDisposition = listener;
  }

  /** Sends a message. The caller makes sure that there is credit. */
  deliver(message: OutgoingTransfer): void {
    if (!this.isOpen) return;
    this.#credit--;
    if (!message.settled) this.#withoutDisposition++;
    this.#deliveryCount = (this.#deliveryCount + 1) >>> 0;
    this.#sending.transfer(this, message);
  }

  /** Settles deliveries on our side, in answer to dispositions of the peer. */
  settle(deliveries: readonly OutgoingDelivery[], state: DeliveryState): void {
    for (const { id } of deliveries) this.#sending.settled(id);
    if (!this.isOpen) return;
    for (const { first, last } of idRanges(deliveries)) {
      this.host.send({ kind: 'disposition', role: 'sender', first, last, settled: true, state });
    }
  }

  /** Sends a state of a delivery without settling it. */
  reportState({ id: first }: OutgoingDelivery, state: DeliveryState): void {
    if (!this.isOpen) return;
    this.host.send({ kind: 'disposition', role: 'sender', first, settled: false, state });
  }

  /** Answers a drain: uses the credit up and sends a flow after all queued messages (semantics W11). */
  drained(): void {
    if (!this.#isDraining || !this.isOpen) return;
    this.#isDraining = false;
    this.#deliveryCount = (this.#deliveryCount + Math.max(0, this.#credit)) >>> 0;
    this.#credit = 0;
    this.#sending.afterTransfers(() => this.#sendFlow(true));
  }

  /** Handles a flow of the peer for this link. */
  flowed(flow: Flow): void {
    if (flow.linkCredit !== undefined) {
      const credit = flow.linkCredit - distance(flow.deliveryCount ?? 0, this.#deliveryCount);
      // A peer may report a larger delivery count than ours, which yields too much credit.
      this.#credit = Math.min(credit, UINT_MAX);
    }
    this.#isDraining = flow.drain === true;
    if (flow.echo && !this.#isDraining && this.isOpen) this.#sendFlow(false);
    this.#onFlow();
  }

  /** Handles a disposition of the peer for one delivery. */
  disposed(delivery: OutgoingDelivery, state: DeliveryState | undefined): void {
    // In a transaction the peer may send two dispositions for a delivery.
    this.#withoutDisposition = Math.max(0, this.#withoutDisposition - 1);
    this.#onDisposition(delivery, state);
  }

  #sendFlow(drain: boolean): void {
    if (!this.isOpen) return;
    this.host.flow({
      handle: this.attach.handle,
      deliveryCount: this.#deliveryCount,
      linkCredit: Math.max(0, this.#credit),
      drain,
    });
  }
}
