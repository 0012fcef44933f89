import type { SessionHandle, SessionLock } from '../../shared/broker/broker.ts';
import type { EntityPath } from '../../shared/domain/entity-path.ts';
import { sessionLockLost } from '../../shared/domain/session.ts';

/** A session that a link of this connection holds. */
export interface HeldSession {
  readonly linkName: string;
  lock: SessionLock;
  /** Called when the lock was started anew, with its new end. */
  renewed: (lock: SessionLock) => void;
}

/**
 * The sessions that the links of one connection hold: requests name a session by its id alone, or by
 * the link that holds it, since they come over the same connection.
 */
export class SessionHolders {
  readonly #held = new Map<string, HeldSession>();

  add(path: EntityPath, held: HeldSession): void {
    this.#held.set(keyOf(path, held.lock.sessionId), held);
  }

  remove(path: EntityPath, held: HeldSession): void {
    const key = keyOf(path, held.lock.sessionId);
    if (this.#held.get(key) === held) this.#held.delete(key);
  }

  /** The lock on a session. Throws SessionLockLost where no link holds it. */
  handle(path: EntityPath, sessionId: string): SessionHandle {
    const held = this.#held.get(keyOf(path, sessionId));
    if (held === undefined) throw sessionLockLost();
    return held.lock;
  }

  /** The session of a link, for requests that name the link instead. */
  idOfLink(path: EntityPath, linkName: string): string | undefined {
    for (const [key, { linkName: name, lock }] of this.#held) {
      if (name === linkName && key === keyOf(path, lock.sessionId)) return lock.sessionId;
    }
    return undefined;
  }

  renewed(path: EntityPath, lock: SessionLock): void {
    this.#held.get(keyOf(path, lock.sessionId))?.renewed(lock);
  }
}

function keyOf({ key, subQueue }: EntityPath, sessionId: string): string {
  return `${key}\0${subQueue}\0${sessionId}`;
}
