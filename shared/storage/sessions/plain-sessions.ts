import type { Log } from '../../domain/blocks/log.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { logName } from '../schema/message-keys.ts';
import type { Session } from './session-item.ts';

const SESSIONS_MAX = 10_000;

/**
 * The sessions that had no state when this process last saw their items. A hint: it spares the read before a release,
 * whose condition then decides.
 */
export class PlainSessions {
  readonly #names = new BoundedMap<string, true>(SESSIONS_MAX);

  has(session: Log): boolean {
    return this.#names.get(logName(session)) !== undefined;
  }

  /** Notes a session as its item was read. */
  note(session: Log, { state }: Pick<Session, 'state'>): void {
    if (state === undefined) this.#names.set(logName(session), true);
    else this.#names.delete(logName(session));
  }

  /** Forgets a session whose state is set or whose lock has ended. */
  forget(session: Log): void {
    this.#names.delete(logName(session));
  }
}
