/** A small model of a queue that requires sessions: the lock and the messages of each session. */

export const LOCK_MS = 30_000;
export const HOLDERS = 8;
export const SESSIONS = 40;

/** One lock of a session, from its beginning to its end. */
export interface HeldLock {
  readonly session: string;
  until: number;
  /** How it ended before its expiry. */
  end?: 'released' | 'broken';
}

export interface ModelMessage {
  readonly id: string;
  readonly session: string;
  state: 'active' | 'deferred' | 'dead';
  /** Deliveries that ended without success. */
  failed: number;
  /** The lock of the delivery that is not settled yet. */
  under?: HeldLock;
  /** The sequence number; known once the message was received. */
  number?: number;
}

/** A message that a holder received. */
export interface Delivery {
  readonly message: ModelMessage;
  readonly lockToken: string;
  readonly under: HeldLock;
}

/** A holder's lock, which may have ended, and its unsettled deliveries. */
export interface Handle {
  readonly held: HeldLock;
  readonly deliveries: Delivery[];
}

export class SessionModel {
  /** In the order of their sends, without completed ones. */
  readonly messages: ModelMessage[] = [];
  readonly states = new Map<string, string>();
  readonly history: string[] = [];
  readonly handles: (Handle | undefined)[] = Array.from({ length: HOLDERS }, () => undefined);
  readonly maxDeliveryCount: number;
  now: number;
  readonly #locks = new Map<string, HeldLock>();
  #sent = 0;

  constructor(maxDeliveryCount: number, now: number) {
    this.maxDeliveryCount = maxDeliveryCount;
    this.now = now;
  }

  isLive(held: HeldLock): boolean {
    return held.end === undefined && this.now < held.until;
  }

  isHeld(session: string): boolean {
    const held = this.#locks.get(session);
    return held !== undefined && this.isLive(held);
  }

  /** Records an accepted session. */
  accepted(session: string): HeldLock {
    const held = { session, until: this.now + LOCK_MS };
    this.#locks.set(session, held);
    return held;
  }

  /** Ends all locks, as an update of the queue does. */
  breakLocks(): void {
    for (const held of this.#locks.values()) {
      if (this.isLive(held)) held.end = 'broken';
    }
  }

  sending(session: string): ModelMessage {
    return { id: `m${this.#sent++}`, session, state: 'active', failed: 0 };
  }

  remove(message: ModelMessage): void {
    this.messages.splice(this.messages.indexOf(message), 1);
  }

  /** Ends deliveries whose locks have ended, and dead-letters messages at the maximum delivery count. */
  catchUp(): void {
    for (const message of this.messages) {
      const { under, state } = message;
      if (under !== undefined && !this.isLive(under)) {
        if (under.end !== 'released') message.failed++;
        delete message.under;
      }
      const isOver = message.under === undefined && message.failed >= this.maxDeliveryCount;
      if (state === 'active' && isOver) message.state = 'dead';
    }
  }

  /** Messages of a session in a state, in their order. */
  of(session: string, state: ModelMessage['state']): readonly ModelMessage[] {
    this.catchUp();
    return this.messages.filter((one) => one.session === session && one.state === state);
  }

  /** The messages that the holder of a session can receive, in order. */
  free(session: string): readonly ModelMessage[] {
    return this.of(session, 'active').filter(({ under }) => under === undefined);
  }

  /** Sessions that accepting the next session may return. */
  waiting(): readonly string[] {
    this.catchUp();
    const active = this.messages.filter(({ state }) => state === 'active');
    const sessions = new Set(active.map(({ session }) => session));
    return [...sessions].filter((session) => !this.isHeld(session));
  }

  /** Sessions with active messages, held or not. */
  listed(): readonly string[] {
    this.catchUp();
    const active = this.messages.filter(({ state }) => state === 'active');
    return [...new Set(active.map(({ session }) => session))].sort();
  }
}
