import type { Attach, Performative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';
import type { ConnectionLimits } from './connection-limits.ts';

/** What a link needs of the session it lies in. */
export interface LinkHost {
  send(performative: Performative, payload?: Uint8Array): void;
  /** A flow that tells of the session, and of a link. */
  flow(link?: { handle: number; deliveryCount: number; linkCredit: number; drain: boolean }): void;
  readonly limits: ConnectionLimits;
  /** The link has ended on both sides; its handle is free. */
  forget(handle: number): void;
}

/** What our attach says beside what the peer's said. */
export interface Acceptance {
  readonly source?: AmqpValue;
  readonly target?: AmqpValue;
  readonly maxMessageSize?: bigint;
  readonly properties?: AmqpValue;
}

type State =
  /** The peer has attached and waits for our word. */
  | 'asked'
  | 'open'
  /** We have detached and wait for the peer's word. */
  | 'detached'
  | 'ended';

/** One end of a link; the peer always attaches first, and is answered when it is known how. */
export abstract class Link {
  protected readonly host: LinkHost;
  #asked: Attach;
  /** Bytes that the attach is counted as. */
  #weight: number;
  /** Bytes of what else is kept for the link. */
  #kept = 0;
  #state: State = 'asked';
  #onEnd: () => void | Promise<void> = () => {};
  /** Settled when it is known how the attach is answered. */
  #opening: Promise<void> | undefined;
  /** Settled when nothing is left to do for a link that has ended, nor to say. */
  #finished: Promise<void> = Promise.resolve();

  /** `weight` = bytes that the attach takes, as it is decoded. Throws AmqpError where that is too much. */
  constructor(asked: Attach, host: LinkHost, weight: number) {
    // A name may be longer than its bytes were: what is no UTF-8 is read as three bytes each.
    this.#weight = Math.max(weight, Buffer.byteLength(asked.name));
    host.limits.hold(this.#weight);
    this.#asked = asked;
    this.host = host;
  }

  /** What the peer's attach said. Once it is answered, source, target and properties are forgotten. */
  get asked(): Attach {
    return this.#asked;
  }

  get name(): string {
    return this.asked.name;
  }

  /** What its connection may hold. */
  get limits(): ConnectionLimits {
    return this.host.limits;
  }

  /** Stands for the session in which the link lies. */
  get session(): object {
    return this.host;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Whether the peer still waits for an answer to its attach. */
  get isAsked(): boolean {
    return this.#state === 'asked';
  }

  /**
   * Called once, when the link is of no more use, whoever ended it. A peer that ended it hears back
   * when the promise is settled.
   */
  onEnd(listener: () => void | Promise<void>): void {
    this.#onEnd = listener;
  }

  /** Counts a text that is kept until the link ends. Throws AmqpError where that is too much. */
  keep(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.host.limits.hold(bytes);
    this.#kept += bytes;
  }

  /**
   * Tells what finds out how the attach is answered. A peer that goes away meanwhile hears back when that
   * is over: until then the link counts, whatever the peer says.
   */
  opens(opening: Promise<void>): void {
    this.#opening = opening;
  }

  /** Answers the attach. Of no effect where the peer has gone away meanwhile. */
  accept(acceptance: Acceptance = {}): void {
    if (this.#state !== 'asked') return;
    this.#state = 'open';
    this.#attach({
      ...(this.asked.source === undefined ? {} : { source: this.asked.source }),
      ...(this.asked.target === undefined ? {} : { target: this.asked.target }),
      ...acceptance,
    });
  }

  /**
   * Answers the attach with no terminus, which announces the detach that follows. Some clients wait
   * for that only where the peer's own terminus does not come back either.
   */
  refuse(error: ErrorInfo): void {
    if (this.#state !== 'asked') return;
    this.#attach({});
    this.#state = 'open';
    this.detach(error);
  }

  /** Ends the link from our side. */
  detach(error?: ErrorInfo): void {
    if (this.#state !== 'open') return;
    this.#state = 'detached';
    this.#sendDetach(error);
    void this.#onEnd();
  }

  /** The peer ended the link, or answers that we did. */
  detachedByPeer(): void {
    const before = this.#state;
    if (before === 'ended') return;
    this.#state = 'ended';
    const answer = () => {
      this.host.forget(this.asked.handle);
      // A peer that goes away before our attach still gets both.
      if (before === 'asked') this.#attach({});
      if (before !== 'detached') this.#sendDetach();
      this.#release();
    };
    // At once where nothing is to be done: a close that came along must not overtake the answer.
    const ending = this.#ending(before);
    if (ending === undefined) answer();
    else this.#finished = ending.finally(answer);
  }

  /** The session or connection is gone. Resolves when nothing is left to do for the link. */
  async lost(): Promise<void> {
    const before = this.#state;
    this.#state = 'ended';
    if (before === 'open' || before === 'asked') {
      this.#finished = Promise.resolve(this.#ending(before));
    }
    await this.#finished;
    this.#release();
  }

  /** Does what is to be done for a link that ends; undefined where nothing is left to wait for. */
  #ending(before: State): Promise<void> | undefined {
    if (before === 'detached') return undefined;
    const ended = this.#onEnd() ?? undefined;
    const opening = before === 'asked' ? this.#opening : undefined;
    if (opening === undefined) return ended;
    return Promise.all([ended, opening]).then(() => {});
  }

  #release(): void {
    this.host.limits.release(this.#weight + this.#kept);
    this.#weight = 0;
    this.#kept = 0;
  }

  #sendDetach(error?: ErrorInfo): void {
    this.host.send({
      kind: 'detach',
      handle: this.asked.handle,
      closed: true,
      ...(error === undefined ? {} : { error }),
    });
  }

  #attach(acceptance: Acceptance): void {
    const { source, target, properties, ...kept } = this.#asked;
    const { name, handle, role, senderSettleMode, receiverSettleMode } = kept;
    this.host.send({
      kind: 'attach',
      name,
      // Handles of the two directions are apart; the same number keeps traces readable.
      handle,
      role: role === 'sender' ? 'receiver' : 'sender',
      ...(role === 'receiver' ? { initialDeliveryCount: 0 } : {}),
      ...(senderSettleMode === undefined ? {} : { senderSettleMode }),
      ...(receiverSettleMode === undefined ? {} : { receiverSettleMode }),
      ...acceptance,
    });
    this.#asked = kept;
    const bytes = Buffer.byteLength(name);
    this.host.limits.release(this.#weight - bytes);
    this.#weight = bytes;
  }
}
