import { entityOf } from '../scenario/scenario.ts';
import type { Delivery, SessionGrant } from './record.ts';

/** A message that a client was handed under a lock. */
export interface Held {
  readonly delivery: Delivery;
  readonly session?: SessionGrant;
  /** Whether the client has settled it already, as far as it knows. */
  isSpent: boolean;
}

/** A message whose number clients know. */
export interface Numbered {
  readonly tag: string;
  readonly sequenceNumber: bigint;
  readonly sessionId: string | undefined;
}

/** So many are kept of each kind: the latest. */
const KEPT_MAX = 300;

/** What one client has in hand. */
export class Hands {
  readonly #held = new Map<string, Held[]>();
  readonly #sessions = new Map<string, SessionGrant>();

  take(path: string, held: Held): void {
    push(this.#held, path, held);
  }

  /** Messages of a path that it may settle, the first one received first, or those that it has settled. */
  held(path: string, areSpent: boolean): readonly Held[] {
    return (this.#held.get(path) ?? []).filter(({ isSpent }) => isSpent === areSpent);
  }

  session(path: string): SessionGrant | undefined {
    return this.#sessions.get(path);
  }

  setSession(path: string, grant: SessionGrant | undefined): void {
    if (grant === undefined) this.#sessions.delete(path);
    else this.#sessions.set(path, grant);
  }
}

/** What clients tell each other: numbers of messages that were deferred, scheduled, or sent. */
export class Noticeboard {
  readonly #deferred = new Map<string, Numbered[]>();
  readonly #scheduled = new Map<string, Numbered[]>();
  readonly #stored = new Map<string, Numbered[]>();

  noteDeferred(path: string, message: Numbered): void {
    push(this.#deferred, path, message);
  }

  noteScheduled(path: string, message: Numbered): void {
    push(this.#scheduled, path, message);
  }

  noteStored(path: string, message: Numbered): void {
    push(this.#stored, path, message);
  }

  deferred(path: string): readonly Numbered[] {
    return this.#deferred.get(path) ?? [];
  }

  scheduled(path: string): readonly Numbered[] {
    return this.#scheduled.get(path) ?? [];
  }

  stored(path: string): readonly Numbered[] {
    return this.#stored.get(path) ?? [];
  }

  /** A new entity under the same name knows none of them. */
  forget(entity: string): void {
    for (const map of [this.#deferred, this.#scheduled, this.#stored]) {
      for (const path of map.keys()) if (entityOf(path) === entity) map.delete(path);
    }
  }
}

function push<Value>(map: Map<string, Value[]>, path: string, value: Value): void {
  const values = map.get(path) ?? [];
  values.push(value);
  if (values.length > KEPT_MAX) values.shift();
  map.set(path, values);
}
