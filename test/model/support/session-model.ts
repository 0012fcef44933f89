/** A tiny model of a queue that requires sessions: whose each session is, and what lies in it. */

export const LOCK_MS = 30_000;
export const HOLDERS = 8;
export const SESSIONS = 40;

/** One lock of a session, from its beginning to its end. */
export interface Tenure {
  readonly session: string;
  until: number;
  /** How it ended before its time. */
  end?: 'released' | 'broken';
}

export interface ModelMessage {
  readonly id: string;
  readonly session: string;
  state: 'active' | 'deferred' | 'dead';
  /** Deliveries that ended without success. */
  failed: number;
  /** The delivery that has not been settled. */
  under?: Tenure;
  /** Known once it was received. */
  number?: number;
}

/** What a holder has of a message. */
export interface Delivery {
  readonly message: ModelMessage;
  readonly lockToken: string;
  readonly under: Tenure;
}

/** A lock that a client uses, or still believes to have. */
export interface Handle {
  readonly tenure: Tenure;
  readonly deliveries: Delivery[];
}

export class SessionModel {
  /** In the order in which they were sent. Completed ones are gone. */
  readonly messages: ModelMessage[] = [];
  readonly states = new Map<string, string>();
  readonly history: string[] = [];
  readonly handles: (Handle | undefined)[] = Array.from({ length: HOLDERS }, () => undefined);
  readonly maxDeliveryCount: number;
  now: number;
  readonly #locks = new Map<string, Tenure>();
  #sent = 0;

  constructor(maxDeliveryCount: number, now: number) {
    this.maxDeliveryCount = maxDeliveryCount;
    this.now = now;
  }

  isLive(tenure: Tenure): boolean {
    return tenure.end === undefined && this.now < tenure.until;
  }

  isHeld(session: string): boolean {
    const tenure = this.#locks.get(session);
    return tenure !== undefined && this.isLive(tenure);
  }

  /** Enters a lock that was got. */
  accepted(session: string): Tenure {
    const tenure = { session, until: this.now + LOCK_MS };
    this.#locks.set(session, tenure);
    return tenure;
  }

  /** A change of the entity ends all locks. */
  breakLocks(): void {
    for (const tenure of this.#locks.values()) {
      if (this.isLive(tenure)) tenure.end = 'broken';
    }
  }

  sending(session: string): ModelMessage {
    return { id: `m${this.#sent++}`, session, state: 'active', failed: 0 };
  }

  remove(message: ModelMessage): void {
    this.messages.splice(this.messages.indexOf(message), 1);
  }

  /** Ends deliveries whose locks have ended, and gives up what was delivered often enough. */
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

  /** What the holder of a session would be given, in order. */
  free(session: string): readonly ModelMessage[] {
    return this.of(session, 'active').filter(({ under }) => under === undefined);
  }

  /** Sessions that the next accept may bring. */
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
