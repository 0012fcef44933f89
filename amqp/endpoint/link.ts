import type { Attach, Performative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';

/** What a link needs of the session it lies in. */
export interface LinkHost {
  readonly maxFrameSize: number;
  send(performative: Performative, payload?: Uint8Array): void;
  /** A flow that tells of the session, and of a link. */
  flow(link?: { handle: number; deliveryCount: number; linkCredit: number; drain: boolean }): void;
  /** So many bytes more, or fewer, are kept of messages that have not ended. Throws AmqpError. */
  gathered(bytes: number): void;
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
  readonly asked: Attach;
  protected readonly host: LinkHost;
  #state: State = 'asked';
  #onEnd: () => void | Promise<void> = () => {};
  /** Settled when nothing is left to do for a link that has ended, nor to say. */
  #finished: Promise<void> = Promise.resolve();

  constructor(asked: Attach, host: LinkHost) {
    this.asked = asked;
    this.host = host;
  }

  get name(): string {
    return this.asked.name;
  }

  sharesSession(other: Link): boolean {
    return this.host === other.host;
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
      // Who goes away before our attach still gets both.
      if (before === 'asked') this.#attach({});
      if (before !== 'detached') this.#sendDetach();
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
    const { name, handle, role, senderSettleMode, receiverSettleMode } = this.asked;
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
  }
}
