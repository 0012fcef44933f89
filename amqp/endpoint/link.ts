import type { Attach, Performative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';
import type { ConnectionLimits } from './connection-limits.ts';

/** What a link needs of the session it lies in. */
export interface LinkHost {
  readonly maxFrameSize: number;
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
  #state: State = 'asked';
  #onEnd: () => void | Promise<void> = () => {};
  /** Settled when nothing is left to do for a link that has ended, nor to say. */
  #finished: Promise<void> = Promise.resolve();

  /** `weight` = bytes that the attach takes, as it is decoded. Throws AmqpError where that is too much. */
  constructor(asked: Attach, host: LinkHost, weight: number) {
    host.limits.hold(weight);
    this.#asked = asked;
    this.#weight = weight;
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
      this.host.limits.release(this.#weight);
      this.#weight = 0;
    };
    // At once where nothing is to be done: a close that came along must not overtake the answer.
    const ending = before === 'detached' ? undefined : this.#onEnd();
    if (ending === undefined) answer();
    else this.#finished = ending.finally(answer);
  }

  /** The session or connection is gone. Resolves when nothing is left to do for the link. */
  async lost(): Promise<void> {
    const before = this.#state;
    this.#state = 'ended';
    this.host.limits.release(this.#weight);
    this.#weight = 0;
    if (before === 'open' || before === 'asked') this.#finished = Promise.resolve(this.#onEnd());
    await this.#finished;
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
