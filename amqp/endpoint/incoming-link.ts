import { compact } from '../wire/compact.ts';
import type { Flow, Transfer } from '../wire/performatives.ts';
import type { DeliveryState } from '../wire/states.ts';
import { AmqpError } from '../wire/wire-error.ts';
import { Link } from './link.ts';

/** The default credit: deliveries that a sender may have under way. */
const CREDIT = 200;

/** A complete delivery from the peer. */
export interface IncomingDelivery {
  readonly id: number;
  readonly format: number;
  readonly payload: Uint8Array;
  /** Whether the sender settled it already, so that it expects no outcome. */
  readonly settled: boolean;
  /** Whether it exceeds the maximum of the link. Its payload is empty then. */
  readonly isTooLarge: boolean;
  /** The transactional state, if the delivery belongs to a transaction. */
  readonly state?: DeliveryState;
}

interface PartialDelivery {
  readonly id: number;
  readonly format: number;
  readonly state: DeliveryState | undefined;
  /** The first `keptBytes` are the payload received so far; the rest is spare capacity. */
  bytes: Buffer;
  keptBytes: number;
  /** Payload bytes received, kept or not. */
  receivedBytes: number;
  settled: boolean;
}

const NOTHING = Buffer.alloc(0);
/** Longer transaction ids are cut. The server's own are shorter, so a cut id is unknown either way. */
const ID_BYTES_MAX = 64;

/** A link on which the peer sends messages. */
export class IncomingLink extends Link {
  #onDelivery: (delivery: IncomingDelivery) => void = () => {};
  #onIgnored: (transaction: Uint8Array) => void = () => {};
  #partial: PartialDelivery | undefined;
  #bytesMax: () => number = () => 0;
  #creditMax = CREDIT;
  #deliveryCount = 0;
  #credit = 0;
  /** Deliveries without an outcome yet. */
  #withoutOutcome = 0;
  /** Outcomes to be sent by `releaseOutcomes`; undefined unless they are held back. */
  #heldOutcomes: (() => void)[] | undefined;
  #isStopped = false;

  /** Sets the listener for complete deliveries. `bytesMax` returns the largest payload that is kept. */
  onDelivery(listener: (delivery: IncomingDelivery) => void, bytesMax: () => number): void {
    this.#onDelivery = listener;
    this.#bytesMax = bytesMax;
  }

  /**
   * Sets the listener for messages that arrive after the link was detached, and are ignored, although they
   * belong to a transaction; it is called with the id of the transaction.
   */
  onIgnored(listener: (transaction: Uint8Array) => void): void {
    this.#onIgnored = listener;
  }

  /** Grants credit, with at most `creditMax` deliveries under way. */
  start(creditMax = CREDIT): void {
    this.#creditMax = creditMax;
    this.#deliveryCount = this.attach.initialDeliveryCount ?? 0;
    this.#grantCredit();
  }

  /**
   * Holds outcomes back, so that a client that awaits each outcome stops sending. Before a shutdown closes
   * the connection, no message should be in transit: clients are slow to notice that one was lost.
   */
  holdOutcomes(): void {
    this.#heldOutcomes ??= [];
  }

  /**
   * Revokes the credit and sends the outcomes that were held back. The revocation comes this late, when
   * nothing is in transit, because the vendor's client takes a negative credit for a positive one, and keeps
   * the messages that it cannot send.
   */
  releaseOutcomes(): void {
    if (this.#heldOutcomes === undefined) return;
    const held = this.#heldOutcomes;
    this.#heldOutcomes = undefined;
    this.#isStopped = true;
    if (this.isOpen) this.#sendFlow();
    for (const tell of held) tell();
  }

  /** Settles deliveries with an outcome. */
  settle(deliveries: readonly IncomingDelivery[], state: DeliveryState): void {
    for (const { payload } of deliveries) this.host.limits.messageFinished(payload.byteLength);
    if (this.#heldOutcomes === undefined) this.#settle(deliveries, state);
    else this.#heldOutcomes.push(() => this.#settle(deliveries, state));
  }

  /** Aborts deliveries of a connection that is gone: releases their memory without an outcome. */
  abort(deliveries: readonly IncomingDelivery[]): void {
    for (const { payload } of deliveries) this.limits.messageFinished(payload.byteLength);
  }

  #settle(deliveries: readonly IncomingDelivery[], state: DeliveryState): void {
    this.#withoutOutcome -= deliveries.length;
    if (!this.isOpen) return;
    // What the sender settled beforehand gets no outcome, not even a refusal (semantics #B4).
    for (const { first, last } of idRanges(deliveries.filter(({ settled }) => !settled))) {
      this.host.send({ kind: 'disposition', role: 'receiver', first, last, settled: true, state });
    }
    if (this.#credit <= this.#creditMax / 2) this.#grantCredit();
  }

  /** Handles a transfer, one part of a delivery. Throws AmqpError for a protocol violation. */
  transfer(transfer: Transfer, payload: Uint8Array): void {
    // In transit when this side detached: ignored.
    if (!this.isOpen) {
      if (transfer.state?.kind === 'transactional') this.#onIgnored(transfer.state.transaction);
      return;
    }
    if (transfer.aborted) {
      this.#dropPartial();
      return;
    }
    this.#partial ??= beginDelivery(transfer);
    const partial = this.#partial;
    if (transfer.deliveryId !== undefined && transfer.deliveryId !== partial.id) {
      throw new AmqpError('amqp:not-allowed', 'A delivery began before the previous one ended.');
    }
    partial.settled ||= transfer.settled === true;
    partial.receivedBytes += payload.byteLength;
    if (partial.receivedBytes > this.#bytesMax()) this.#dropPayload(partial);
    else if (transfer.more || partial.keptBytes > 0) this.#append(partial, payload);
    if (transfer.more) return;
    this.#dropPartial();
    this.#complete(
      partial,
      partial.keptBytes > 0 ? partial.bytes.subarray(0, partial.keptBytes) : payload,
    );
  }

  override detachedByPeer(): void {
    this.#dropPartial();
    super.detachedByPeer();
  }

  override async end(): Promise<void> {
    this.#dropPartial();
    await super.end();
  }

  /** Handles a flow of the peer. */
  flowed(flow: Flow): void {
    if (flow.echo) this.#sendFlow();
  }

  /** Copies a part into the buffer. Without a copy, small parts would keep large chunks alive. */
  #append(partial: PartialDelivery, payload: Uint8Array): void {
    const needed = partial.keptBytes + payload.byteLength;
    if (needed > partial.bytes.length) {
      const length = Math.max(needed, Math.min(2 * partial.bytes.length, this.#bytesMax()));
      this.host.limits.hold(length - partial.bytes.length);
      const larger = Buffer.allocUnsafeSlow(length);
      larger.set(partial.bytes.subarray(0, partial.keptBytes));
      partial.bytes = larger;
    }
    partial.bytes.set(payload, partial.keptBytes);
    partial.keptBytes = needed;
  }

  #dropPartial(): void {
    if (this.#partial !== undefined) this.host.limits.release(this.#partial.bytes.length);
    this.#partial = undefined;
  }

  /** Drops the payload of a delivery that is too large; only its size still matters. */
  #dropPayload(partial: PartialDelivery): void {
    this.host.limits.release(partial.bytes.length);
    partial.bytes = NOTHING;
    partial.keptBytes = 0;
  }

  #complete(
    { id, format, state, receivedBytes, settled }: PartialDelivery,
    payload: Uint8Array,
  ): void {
    this.#credit--;
    if (this.#credit < 0) {
      throw new AmqpError(
        'amqp:link:transfer-limit-exceeded',
        'More messages were sent than the link has credit for.',
      );
    }
    this.#deliveryCount = (this.#deliveryCount + 1) >>> 0;
    this.#withoutOutcome++;
    const isTooLarge = receivedBytes > this.#bytesMax();
    const kept = isTooLarge ? NOTHING : compact(payload);
    this.host.limits.messageReceived(kept.byteLength);
    this.#onDelivery({
      id,
      format,
      payload: kept,
      settled,
      isTooLarge,
      ...(state === undefined ? {} : { state }),
    });
  }

  /** Restores the credit, less deliveries without an outcome, which bounds the deliveries under way. */
  #grantCredit(): void {
    if (this.#isStopped) return;
    this.#credit = Math.max(this.#credit, this.#creditMax - this.#withoutOutcome);
    this.#sendFlow();
  }

  #sendFlow(): void {
    this.host.flow({
      handle: this.attach.handle,
      deliveryCount: this.#deliveryCount,
      linkCredit: this.#isStopped ? 0 : Math.max(0, this.#credit),
      drain: false,
    });
  }
}

function beginDelivery(first: Transfer): PartialDelivery {
  const { deliveryId: id, messageFormat: format = 0 } = first;
  if (id === undefined) {
    throw new AmqpError('amqp:not-allowed', 'The first transfer of a delivery has no delivery-id.');
  }
  const state = transactionOf(first.state);
  return { id, format, state, bytes: NOTHING, keptBytes: 0, receivedBytes: 0, settled: false };
}

/** Returns a transactional state with nothing but its transaction id; undefined for other states. */
function transactionOf(state: DeliveryState | undefined): DeliveryState | undefined {
  if (state?.kind !== 'transactional') return undefined;
  return {
    kind: 'transactional',
    transaction: compact(state.transaction.subarray(0, ID_BYTES_MAX)),
  };
}

/** Groups deliveries with consecutive ids into ranges, one disposition each. */
export function idRanges(
  deliveries: readonly { readonly id: number }[],
): readonly { readonly first: number; readonly last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  for (const { id } of deliveries) {
    const current = ranges.at(-1);
    if (current !== undefined && id === (current.last + 1) >>> 0) current.last = id;
    else ranges.push({ first: id, last: id });
  }
  return ranges;
}
