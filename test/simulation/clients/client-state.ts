import { entityOf } from '../scenario/scenario.ts';
import type { Delivery, SessionGrant } from './record.ts';

/** A message that a client received under a lock. */
export interface Held {
  readonly delivery: Delivery;
  readonly session?: SessionGrant;
  /** Whether the client knows that its lock is settled or lost. */
  isSpent: boolean;
}

/** A message whose sequence number clients know. */
export interface Numbered {
  readonly tag: string;
  readonly sequenceNumber: bigint;
  readonly sessionId: string | undefined;
}

/** How many entries of each list are kept: the latest. */
const KEPT_MAX = 300;

/** The message locks and session locks of one client. */
export class ClientLocks {
  readonly #held = new Map<string, Held[]>();
  readonly #sessions = new Map<string, SessionGrant>();

  take(path: string, held: Held): void {
    const all = this.#held.get(path) ?? [];
    keep(all, held);
    this.#held.set(path, all);
  }

  /** Messages received from a path, in order: unsettled ones, or settled ones if `areSpent`. */
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

/** The sequence numbers that clients share: of deferred, scheduled and sent messages, by path. */
export class NumberRegistry {
  readonly #known = new Map<string, KnownNumbers>();

  /**
   * The numbers of a path. An operation gets the lists before it begins: numbers of an entity that is deleted
   * meanwhile then do not enter the lists of the next entity with its path.
   */
  of(path: string): KnownNumbers {
    const known = this.#known.get(path) ?? { deferred: [], scheduled: [], stored: [] };
    this.#known.set(path, known);
    return known;
  }

  /** Drops the numbers of an entity, which are not valid in a new one with the same path. */
  forget(entity: string): void {
    for (const path of this.#known.keys()) if (entityOf(path) === entity) this.#known.delete(path);
  }
}

/** Messages of a path whose numbers are known, the latest last. */
export interface KnownNumbers {
  readonly deferred: Numbered[];
  readonly scheduled: Numbered[];
  readonly stored: Numbered[];
}

/** Adds to a list and drops its oldest entry if it is too long. */
export function keep<Value>(values: Value[], value: Value): void {
  values.push(value);
  if (values.length > KEPT_MAX) values.shift();
}
