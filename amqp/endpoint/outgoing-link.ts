import type { Attach, Flow } from '../wire/performatives.ts';
import { distance } from '../wire/serial.ts';
import type { DeliveryState } from '../wire/states.ts';
import { runs } from './incoming-link.ts';
import { type Acceptance, Link, type LinkHost } from './link.ts';

/** A message on its way to the peer, until both sides have forgotten it. */
export interface OutgoingDelivery {
  readonly id: number;
  readonly tag: Uint8Array;
}

/** What a link that sends needs of its session beside the rest. */
export interface SendingHost extends LinkHost {
  /** Sends a message once the peer's window lets it; the id of the delivery comes back. */
  transfer(link: OutgoingLink, message: OutgoingMessage): number;
  /** Both sides have settled a delivery. */
  settled(id: number): void;
  /** Does something after the messages that wait for the window. */
  afterTransfers(work: () => void): void;
}

export interface OutgoingMessage {
  readonly tag: Uint8Array;
  readonly payload: Uint8Array;
  /** The peer need not say what became of it. */
  readonly settled: boolean;
  /** Told where the link, or more, ends before all of it was sent. */
  readonly dropped?: () => void;
}

const UINT_MAX = 0xffff_ffff;

/** A link on which the peer receives. */
export class OutgoingLink extends Link {
  readonly #sending: SendingHost;
  #credit = 0;
  #deliveryCount = 0;
  #held = 0;
  #isDraining = false;
  #onFlow: () => void = () => {};
  #onDisposition: (delivery: OutgoingDelivery, state: DeliveryState | undefined) => void = () => {};

  constructor(asked: Attach, host: SendingHost, weight: number) {
    super(asked, host, weight);
    this.#sending = host;
  }

  /** How many messages the peer still wants. */
  get credit(): number {
    return this.#credit;
  }

  /** How many messages the peer has that it has said nothing of. */
  get held(): number {
    return this.#held;
  }

  /** Whether the peer wants what there is now, and then its credit back. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Answers the attach. Some clients say how much they want before they have heard of us. */
  override accept(acceptance: Acceptance = {}): void {
    super.accept(acceptance);
    if (this.isOpen && (this.#credit > 0 || this.#isDraining)) this.#onFlow();
  }

  /** Called when the peer said how much it wants. */
  onFlow(listener: () => void): void {
    this.#onFlow = listener;
  }

  /** Called when the peer said what became of a message. */
  onDisposition(
    listener: (delivery: OutgoingDelivery, state: DeliveryState | undefined) => void,
  ): void {
    this.#onDisposition = listener;
  }

  /** Sends a message, for which there must be credit. */
  deliver(message: OutgoingMessage): void {
    if (!this.isOpen) return;
    this.#credit--;
    if (!message.settled) this.#held++;
    this.#deliveryCount = (this.#deliveryCount + 1) >>> 0;
    this.#sending.transfer(this, message);
  }

  /** Answers dispositions: we have settled too. */
  settle(deliveries: readonly OutgoingDelivery[], state: DeliveryState): void {
    for (const { id } of deliveries) this.#sending.settled(id);
    if (!this.isOpen) return;
    for (const { first, last } of runs(deliveries)) {
      this.host.send({ kind: 'disposition', role: 'sender', first, last, settled: true, state });
    }
  }

  /** Tells how a delivery stands, which is not its end. */
  note({ id: first }: OutgoingDelivery, state: DeliveryState): void {
    if (!this.isOpen) return;
    this.host.send({ kind: 'disposition', role: 'sender', first, settled: false, state });
  }

  /** Gives the credit back, once all that was to be sent is sent. */
  drained(): void {
    if (!this.#isDraining || !this.isOpen) return;
    this.#isDraining = false;
    this.#deliveryCount = (this.#deliveryCount + Math.max(0, this.#credit)) >>> 0;
    this.#credit = 0;
    this.#sending.afterTransfers(() => this.#tell(true));
  }

  flowed(flow: Flow): void {
    if (flow.linkCredit !== undefined) {
      const credit = flow.linkCredit - distance(flow.deliveryCount ?? 0, this.#deliveryCount);
      // A peer may claim to have seen more than there was.
      this.#credit = Math.min(credit, UINT_MAX);
    }
    this.#isDraining = flow.drain === true;
    if (flow.echo && !this.#isDraining && this.isOpen) this.#tell(false);
    this.#onFlow();
  }

  disposed(delivery: OutgoingDelivery, state: DeliveryState | undefined): void {
    // In a transaction the peer may say it twice.
    this.#held = Math.max(0, this.#held - 1);
    this.#onDisposition(delivery, state);
  }

  #tell(drain: boolean): void {
    if (!this.isOpen) return;
    this.host.flow({
      handle: this.asked.handle,
      deliveryCount: this.#deliveryCount,
      linkCredit: Math.max(0, this.#credit),
      drain,
    });
  }
}
