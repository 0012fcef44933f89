import type { SessionHandle, SessionLock } from '../../shared/broker/broker.ts';
import { sessionLockLost } from '../../shared/domain/blocks/session.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';

/** A session that a link of this connection holds. */
export interface HeldSession {
  readonly linkName: string;
  lock: SessionLock;
  /** Called with the renewed lock. */
  renewed: (lock: SessionLock) => void;
}

/**
 * The sessions that links of one connection hold. Requests come over the same connection, and name a session
 * by its id, or by the link that holds it.
 */
export class HeldSessions {
  readonly #held = new Map<string, HeldSession>();
  /** The same by link name. */
  readonly #byLink = new Map<string, HeldSession>();
  /** The releases under way of sessions that links have left. */
  readonly #releases = new Map<string, Promise<void>>();

  add(path: EntityPath, held: HeldSession): void {
    this.#held.set(holderKey(path, held.lock.sessionId), held);
    this.#byLink.set(holderKey(path, held.linkName), held);
  }

  remove(path: EntityPath, held: HeldSession): void {
    const key = holderKey(path, held.lock.sessionId);
    if (this.#held.get(key) === held) this.#held.delete(key);
    const linkKey = holderKey(path, held.linkName);
    if (this.#byLink.get(linkKey) === held) this.#byLink.delete(linkKey);
  }

  /** Notes the release of a session that a link has left. It must not fail. */
  leave(path: EntityPath, sessionId: string, release: Promise<void>): void {
    const key = holderKey(path, sessionId);
    this.#releases.set(key, release);
    void release.then(() => {
      if (this.#releases.get(key) === release) this.#releases.delete(key);
    });
  }

  /** The release of a session that a link has left, if it is under way. */
  releaseOf(path: EntityPath, sessionId: string): Promise<void> | undefined {
    return this.#releases.get(holderKey(path, sessionId));
  }

  /** Returns the lock of a session. Throws SessionLockLost if no link holds it. */
  handle(path: EntityPath, sessionId: string): SessionHandle {
    const held = this.#held.get(holderKey(path, sessionId));
    if (held === undefined) throw sessionLockLost();
    return held.lock;
  }

  /** Returns the id of the session that a link holds, for requests that name the link. */
  idOfLink(path: EntityPath, linkName: string): string | undefined {
    return this.#byLink.get(holderKey(path, linkName))?.lock.sessionId;
  }

  /** Passes a renewed lock to the link that holds the session. */
  renewed(path: EntityPath, lock: SessionLock): void {
    this.#held.get(holderKey(path, lock.sessionId))?.renewed(lock);
  }
}

function holderKey({ key, subQueue }: EntityPath, name: string): string {
  return `${key}\0${subQueue}\0${name}`;
}
