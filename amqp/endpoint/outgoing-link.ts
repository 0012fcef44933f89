import type { Attach, Flow } from '../wire/performatives.ts';
import { distance } from '../wire/serial.ts';
import type { DeliveryState } from '../wire/states.ts';
import { runs } from './incoming-link.ts';
import { Link, type LinkHost } from './link.ts';

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
}

/** A link on which the peer receives. */
export class OutgoingLink extends Link {
  readonly #sending: SendingHost;
  #credit = 0;
  #deliveryCount = 0;
  #isDraining = false;
  #onFlow: () => void = () => {};
  #onDisposition: (delivery: OutgoingDelivery, state: DeliveryState | undefined) => void = () => {};

  constructor(asked: Attach, host: SendingHost) {
    super(asked, host);
    this.#sending = host;
  }

  /** How many messages the peer still wants. */
  get credit(): number {
    return this.#credit;
  }

  /** Whether the peer wants what there is now, and then its credit back. */
  get isDraining(): boolean {
    return this.#isDraining;
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
      this.#credit = flow.linkCredit - distance(flow.deliveryCount ?? 0, this.#deliveryCount);
    }
    this.#isDraining = flow.drain === true;
    if (flow.echo && !this.#isDraining && this.isOpen) this.#tell(false);
    this.#onFlow();
  }

  disposed(delivery: OutgoingDelivery, state: DeliveryState | undefined): void {
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
