import type { Log } from '../../domain/blocks/log.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { logName } from '../schema/message-keys.ts';

const LOGS_MAX = 10_000;
const ENTRIES_MAX = 10_000;

/** A call of this process that looks at a session, to accept it. */
export interface Attempt {
  /** Whether it found the session ready, and locks it. */
  isTaking: boolean;
  /** Whether the session is held when the attempt ends, by its receiver or another one. */
  readonly isHeld: Promise<boolean>;
  readonly end: (isHeld: boolean) => void;
}

/** What a process remembers about accepting sessions. */
export class AcceptMemory {
  /** Attempts under way, by the name of the session. Other calls leave the session to them, to avoid a race. */
  readonly attempts = new Map<string, Attempt>();
  readonly #taken = new BoundedMap<string, true>(ENTRIES_MAX);
  readonly lookedThrough = new LookedThrough();

  /** Whether this process locked the session of an index entry, by its name and stamp, after it read the entry. */
  hasTaken(entry: string): boolean {
    return this.#taken.get(entry) !== undefined;
  }

  noteTaken(entry: string): void {
    this.#taken.set(entry, true);
  }

  /** Begins an attempt to accept the session with this name. */
  begin(name: string): Attempt {
    let end = (_isHeld: boolean) => {};
    const isHeld = new Promise<boolean>((resolve) => {
      end = resolve;
    });
    const attempt = { isTaking: false, isHeld, end };
    this.attempts.set(name, attempt);
    return attempt;
  }

  /** Ends an attempt, unless it has ended already. */
  end(name: string, attempt: Attempt, isHeld = false): void {
    attempt.end(isHeld);
    if (this.attempts.get(name) === attempt) this.attempts.delete(name);
  }
}

/** Stands for the epoch of a log without sessions. */
const NO_EPOCH = -1;

/** Remembers, per partition, the entity epoch at which no locks were left that a change of the entity had ended. */
class LookedThrough {
  readonly #epochs = new BoundedMap<string, number>(LOGS_MAX);

  has(partition: Log): boolean {
    return this.#epochs.get(logName(partition)) === (partition.sessions?.epoch ?? NO_EPOCH);
  }

  add(partition: Log): void {
    this.#epochs.set(logName(partition), partition.sessions?.epoch ?? NO_EPOCH);
  }
}
