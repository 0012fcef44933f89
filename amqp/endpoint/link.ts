import type { Attach, Performative } from '../wire/performatives.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';
import type { ConnectionLimits } from './connection-limits.ts';

/** What a link needs of its session. */
export interface LinkHost {
  send(performative: Performative, payload?: Uint8Array): void;
  /** Sends a flow with the state of the session and, if given, of a link. */
  flow(link?: { handle: number; deliveryCount: number; linkCredit: number; drain: boolean }): void;
  readonly limits: ConnectionLimits;
  /** Frees the handle of a link that has detached on both sides. */
  forget(handle: number): void;
}

/** Fields of our attach in addition to, or in place of, those of the peer's. */
export interface Acceptance {
  readonly source?: AmqpValue;
  readonly target?: AmqpValue;
  readonly maxMessageSize?: bigint;
  readonly properties?: AmqpValue;
}

type State =
  /** The peer has attached and waits for our attach. */
  | 'attaching'
  | 'open'
  /** We have detached and wait for the peer's detach. */
  | 'detached'
  | 'ended';

/** One end of a link. The peer always attaches first; `accept` or `refuse` answers it. */
export abstract class Link {
  protected readonly host: LinkHost;
  #attach: Attach;
  /** Bytes for which the attach counts. */
  #attachBytes: number;
  /** Bytes of texts that `holdText` counts. */
  #textBytes = 0;
  #state: State = 'attaching';
  #onEnd: () => void | Promise<void> = () => {};
  /** Settles when the attach has been accepted or refused. */
  #opening: Promise<void> | undefined;
  /** Settles when the work and the frames of an ended link are done. */
  #finished: Promise<void> = Promise.resolve();

  /**
   * `decodedBytes` = memory of the decoded attach. Throws AmqpError `amqp:resource-limit-exceeded` if the
   * connection may hold no more.
   */
  constructor(attach: Attach, host: LinkHost, decodedBytes: number) {
    // A name may grow in decoding: each invalid byte of UTF-8 becomes a character of three bytes.
    this.#attachBytes = Math.max(decodedBytes, Buffer.byteLength(attach.name));
    host.limits.hold(this.#attachBytes);
    this.#attach = attach;
    this.host = host;
  }

  /** The peer's attach. Its source, target and properties are dropped once it is answered. */
  get attach(): Attach {
    return this.#attach;
  }

  get name(): string {
    return this.attach.name;
  }

  /** The limits of the connection. */
  get limits(): ConnectionLimits {
    return this.host.limits;
  }

  /** The identity of the link's session. */
  get session(): object {
    return this.host;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Whether the peer waits for an answer to its attach. */
  get isAttaching(): boolean {
    return this.#state === 'attaching';
  }

  /**
   * Sets the listener for the end of the link, which either side or a lost connection may cause. It is
   * called once. A peer that detaches gets its answer when the listener's promise settles.
   */
  onEnd(listener: () => void | Promise<void>): void {
    this.#onEnd = listener;
  }

  /** Holds the bytes of a text until the link ends. Throws AmqpError `amqp:resource-limit-exceeded`. */
  holdText(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.host.limits.hold(bytes);
    this.#textBytes += bytes;
  }

  /**
   * Sets the promise that settles when the attach has been answered. A peer that detaches earlier gets its
   * answer only then, so that the link counts as long as work for it goes on.
   */
  setOpening(opening: Promise<void>): void {
    this.#opening = opening;
  }

  /** Accepts the attach. Has no effect if the peer has detached meanwhile. */
  accept(acceptance: Acceptance = {}): void {
    if (this.#state !== 'attaching') return;
    this.#state = 'open';
    this.#sendAttach({
      ...(this.attach.source === undefined ? {} : { source: this.attach.source }),
      ...(this.attach.target === undefined ? {} : { target: this.attach.target }),
      ...acceptance,
    });
  }

  /**
   * Refuses the attach: answers without source and target, which announces the detach that follows (semantics W6). Some
   * clients expect that detach only if both are absent, also the one that the peer itself set.
   */
  refuse(error: ErrorInfo): void {
    if (this.#state !== 'attaching') return;
    this.#sendAttach({});
    this.#state = 'open';
    this.detach(error);
  }

  /** Detaches an open link from our side, with an error if there is one. */
  detach(error?: ErrorInfo): void {
    if (this.#state !== 'open') return;
    this.#state = 'detached';
    this.#sendDetach(error);
    void this.#onEnd();
  }

  /** Handles a detach of the peer: its own, or the answer to ours. */
  detachedByPeer(): void {
    const before = this.#state;
    if (before === 'ended') return;
    this.#state = 'ended';
    const answer = () => {
      this.host.forget(this.attach.handle);
      // A peer that detaches before our attach still gets both frames.
      if (before === 'attaching') this.#sendAttach({});
      if (before !== 'detached') this.#sendDetach();
      this.#release();
    };
    // Without work, answers at once: a close in the same input must not overtake the answer.
    const ending = this.#ending(before);
    if (ending === undefined) answer();
    else this.#finished = ending.finally(answer);
  }

  /** Ends the link, since its session or connection is gone. Resolves when its work is done. */
  async end(): Promise<void> {
    const before = this.#state;
    this.#state = 'ended';
    if (before === 'open' || before === 'attaching') {
      this.#finished = Promise.resolve(this.#ending(before));
    }
    await this.#finished;
    this.#release();
  }

  /** Calls the end listener. Returns a promise of the remaining work, undefined if there is none. */
  #ending(before: State): Promise<void> | undefined {
    if (before === 'detached') return undefined;
    const ended = this.#onEnd() ?? undefined;
    const opening = before === 'attaching' ? this.#opening : undefined;
    if (opening === undefined) return ended;
    return Promise.all([ended, opening]).then(() => {});
  }

  #release(): void {
    this.host.limits.release(this.#attachBytes + this.#textBytes);
    this.#attachBytes = 0;
    this.#textBytes = 0;
  }

  #sendDetach(error?: ErrorInfo): void {
    this.host.send({
      kind: 'detach',
      handle: this.attach.handle,
      closed: true,
      ...(error === undefined ? {} : { error }),
    });
  }

  #sendAttach(acceptance: Acceptance): void {
    const { source, target, properties, ...kept } = this.#attach;
    const { name, handle, role, senderSettleMode, receiverSettleMode } = kept;
    this.host.send({
      kind: 'attach',
      name,
      // Each side numbers its handles by itself. The same number on both keeps traces readable.
      handle,
      role: role === 'sender' ? 'receiver' : 'sender',
      ...(role === 'receiver' ? { initialDeliveryCount: 0 } : {}),
      ...(senderSettleMode === undefined ? {} : { senderSettleMode }),
      ...(receiverSettleMode === undefined ? {} : { receiverSettleMode }),
      ...acceptance,
    });
    this.#attach = kept;
    const bytes = Buffer.byteLength(name);
    this.host.limits.release(this.#attachBytes - bytes);
    this.#attachBytes = bytes;
  }
}
