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
    const all = this.#held.get(path) ?? [];
    keep(all, held);
    this.#held.set(path, all);
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

/** What clients tell each other: numbers of messages that were deferred, scheduled, or sent; by path. */
export class Noticeboard {
  readonly #known = new Map<string, KnownNumbers>();

  /**
   * What is known of a path now. An operation asks before it begins: what it learns of an entity that is
   * deleted meanwhile says nothing of the next one under its name.
   */
  of(path: string): KnownNumbers {
    const known = this.#known.get(path) ?? { deferred: [], scheduled: [], stored: [] };
    this.#known.set(path, known);
    return known;
  }

  /** A new entity under the same name knows none of them. */
  forget(entity: string): void {
    for (const path of this.#known.keys()) if (entityOf(path) === entity) this.#known.delete(path);
  }
}

/** Numbers of messages of a path, the latest last. */
export interface KnownNumbers {
  readonly deferred: Numbered[];
  readonly scheduled: Numbered[];
  readonly stored: Numbered[];
}

/** Adds to a list, of which only the latest are kept. */
export function keep<Value>(values: Value[], value: Value): void {
  values.push(value);
  if (values.length > KEPT_MAX) values.shift();
}
