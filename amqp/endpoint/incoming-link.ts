import { compact } from '../wire/compact.ts';
import type { Flow, Transfer } from '../wire/performatives.ts';
import type { DeliveryState } from '../wire/states.ts';
import { AmqpError } from '../wire/wire-error.ts';
import { Link } from './link.ts';

/** Deliveries that a sender may have under way, unless it is said otherwise. */
const CREDIT = 200;

/** A message on its way to us. */
export interface IncomingDelivery {
  readonly id: number;
  readonly format: number;
  readonly payload: Uint8Array;
  /** The sender does not want to know the outcome. */
  readonly settled: boolean;
  /** More came than the link allows; the payload is not there. */
  readonly isTooLarge: boolean;
  /** There where the delivery belongs to a transaction. */
  readonly state?: DeliveryState;
}

interface Partial {
  readonly id: number;
  readonly format: number;
  readonly state: DeliveryState | undefined;
  /** What came before the last transfer, with room for more. */
  bytes: Buffer;
  kept: number;
  /** What came, kept or not. */
  length: number;
  settled: boolean;
}

const NOTHING = Buffer.alloc(0);
/** Ids of transactions are ours and shorter: one that is cut here is unknown before and after. */
const ID_BYTES_MAX = 64;

/** A link on which the peer sends. */
export class IncomingLink extends Link {
  #onDelivery: (delivery: IncomingDelivery) => void = () => {};
  #onIgnored: (transaction: Uint8Array) => void = () => {};
  #partial: Partial | undefined;
  #bytesMax: () => number = () => 0;
  #creditMax = CREDIT;
  #deliveryCount = 0;
  #credit = 0;
  /** Deliveries without an outcome yet. */
  #open = 0;
  /** Outcomes that are not told yet, once they are held back. */
  #held: (() => void)[] | undefined;
  #isStopped = false;

  /** What is called for each message; `bytesMax` tells how much is kept of one. */
  onDelivery(listener: (delivery: IncomingDelivery) => void, bytesMax: () => number): void {
    this.#onDelivery = listener;
    this.#bytesMax = bytesMax;
  }

  /** What is called for a message of a transaction that came too late: the link is detached already. */
  onIgnored(listener: (transaction: Uint8Array) => void): void {
    this.#onIgnored = listener;
  }

  /** Lets the peer send, with so many deliveries under way at most. */
  start(creditMax = CREDIT): void {
    this.#creditMax = creditMax;
    this.#deliveryCount = this.asked.initialDeliveryCount ?? 0;
    this.#grant();
  }

  /**
   * Holds outcomes back: whoever sends one message after the other sends no more. Clients take long
   * to find out that what they sent to a connection which was closed meanwhile did not arrive, so there
   * should be nothing on its way then.
   */
  hold(): void {
    this.#held ??= [];
  }

  /**
   * Takes the credit back and tells what was held back. Only now, when nothing is on its way: the
   * vendor's client takes less than no credit for some, and keeps what it cannot send.
   */
  release(): void {
    if (this.#held === undefined) return;
    const held = this.#held;
    this.#held = undefined;
    this.#isStopped = true;
    if (this.isOpen) this.#tell();
    for (const tell of held) tell();
  }

  /** Tells the outcome of deliveries, which ends them. */
  settle(deliveries: readonly IncomingDelivery[], state: DeliveryState): void {
    for (const { payload } of deliveries) this.host.limits.finished(payload.byteLength);
    if (this.#held === undefined) this.#settle(deliveries, state);
    else this.#held.push(() => this.#settle(deliveries, state));
  }

  /** Ends deliveries of a connection that is gone: they have no outcome. */
  giveUp(deliveries: readonly IncomingDelivery[]): void {
    for (const { payload } of deliveries) this.limits.finished(payload.byteLength);
  }

  #settle(deliveries: readonly IncomingDelivery[], state: DeliveryState): void {
    this.#open -= deliveries.length;
    if (!this.isOpen) return;
    for (const { first, last } of runs(deliveries.filter(({ settled }) => !settled))) {
      this.host.send({ kind: 'disposition', role: 'receiver', first, last, settled: true, state });
    }
    if (this.#credit <= this.#creditMax / 2) this.#grant();
  }

  transfer(transfer: Transfer, payload: Uint8Array): void {
    // What was on its way when we detached is not wanted.
    if (!this.isOpen) {
      if (transfer.state?.kind === 'transactional') this.#onIgnored(transfer.state.transaction);
      return;
    }
    if (transfer.aborted) {
      this.#forgetPartial();
      return;
    }
    this.#partial ??= begin(transfer);
    const partial = this.#partial;
    if (transfer.deliveryId !== undefined && transfer.deliveryId !== partial.id) {
      throw new AmqpError('amqp:not-allowed', 'A delivery began before the one before it ended.');
    }
    partial.settled ||= transfer.settled === true;
    partial.length += payload.byteLength;
    if (partial.length > this.#bytesMax()) this.#forget(partial);
    else if (transfer.more || partial.kept > 0) this.#keep(partial, payload);
    if (transfer.more) return;
    this.#forgetPartial();
    this.#complete(partial, partial.kept > 0 ? partial.bytes.subarray(0, partial.kept) : payload);
  }

  override detachedByPeer(): void {
    this.#forgetPartial();
    super.detachedByPeer();
  }

  override async lost(): Promise<void> {
    this.#forgetPartial();
    await super.lost();
  }

  flowed(flow: Flow): void {
    if (flow.echo) this.#tell();
  }

  /** Copies a part: small ones would each keep alive the bytes that they came in. */
  #keep(partial: Partial, payload: Uint8Array): void {
    const needed = partial.kept + payload.byteLength;
    if (needed > partial.bytes.length) {
      const length = Math.max(needed, Math.min(2 * partial.bytes.length, this.#bytesMax()));
      this.host.limits.hold(length - partial.bytes.length);
      const larger = Buffer.allocUnsafeSlow(length);
      larger.set(partial.bytes.subarray(0, partial.kept));
      partial.bytes = larger;
    }
    partial.bytes.set(payload, partial.kept);
    partial.kept = needed;
  }

  #forgetPartial(): void {
    if (this.#partial !== undefined) this.host.limits.release(this.#partial.bytes.length);
    this.#partial = undefined;
  }

  /** Too much came: only how much it was is still of use. */
  #forget(partial: Partial): void {
    this.host.limits.release(partial.bytes.length);
    partial.bytes = NOTHING;
    partial.kept = 0;
  }

  #complete({ id, format, state, length, settled }: Partial, payload: Uint8Array): void {
    this.#credit--;
    if (this.#credit < 0) {
      throw new AmqpError(
        'amqp:link:transfer-limit-exceeded',
        'More messages were sent than the link has credit for.',
      );
    }
    this.#deliveryCount = (this.#deliveryCount + 1) >>> 0;
    this.#open++;
    const isTooLarge = length > this.#bytesMax();
    const kept = isTooLarge ? NOTHING : compact(payload);
    this.host.limits.received(kept.byteLength);
    this.#onDelivery({
      id,
      format,
      payload: kept,
      settled,
      isTooLarge,
      ...(state === undefined ? {} : { state }),
    });
  }

  /** Fills the credit up again, less what is still being stored: so we are never sent too much. */
  #grant(): void {
    if (this.#isStopped) return;
    this.#credit = Math.max(this.#credit, this.#creditMax - this.#open);
    this.#tell();
  }

  #tell(): void {
    this.host.flow({
      handle: this.asked.handle,
      deliveryCount: this.#deliveryCount,
      linkCredit: this.#isStopped ? 0 : Math.max(0, this.#credit),
      drain: false,
    });
  }
}

function begin(first: Transfer): Partial {
  const { deliveryId: id, messageFormat: format = 0 } = first;
  if (id === undefined) {
    throw new AmqpError('amqp:not-allowed', 'The first transfer of a delivery has no delivery-id.');
  }
  const state = keptState(first.state);
  return { id, format, state, bytes: NOTHING, kept: 0, length: 0, settled: false };
}

/** What is of use of the state that a delivery comes with: its transaction. */
function keptState(state: DeliveryState | undefined): DeliveryState | undefined {
  if (state?.kind !== 'transactional') return undefined;
  return {
    kind: 'transactional',
    transaction: compact(state.transaction.subarray(0, ID_BYTES_MAX)),
  };
}

/** Ids that follow one another, as ranges. */
export function runs(
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
