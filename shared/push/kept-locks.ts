import type { SessionHandle } from '../broker/broker.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { EntityPath } from '../domain/entities/entity-path.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import type { Timer } from '../domain/scheduler.ts';
import { isOver } from './current-consumer.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

type Dependencies = Pick<WorkerDependencies, 'broker' | 'scheduler' | 'reportFault'>;

/** Renews the locks of messages until they are settled, so that a target may take longer than a lock lasts. */
export class KeptLocks {
  readonly #dependencies: Dependencies;
  readonly #path: EntityPath;
  readonly #tokens = new Set<string>();
  readonly #timer: Timer;
  #isRenewing = false;

  constructor(dependencies: Dependencies, path: EntityPath, lockMs: number) {
    this.#dependencies = dependencies;
    this.#path = path;
    this.#timer = dependencies.scheduler.every(lockMs * RENEW_AFTER, () => void this.#renew());
  }

  /** Keeps the locks of messages, too. */
  add(messages: readonly LockedMessage[]): void {
    for (const { lockToken } of messages) this.#tokens.add(lockToken);
  }

  /** Stops to keep the locks of messages that are settled. */
  drop(messages: readonly LockedMessage[]): void {
    for (const { lockToken } of messages) this.#tokens.delete(lockToken);
  }

  /** Keeps none any more. */
  end(): void {
    this.#timer.cancel();
    this.#tokens.clear();
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing || this.#tokens.size === 0) return;
    this.#isRenewing = true;
    const { broker, reportFault } = this.#dependencies;
    try {
      const outcomes = await broker.renewLocks(this.#path, [...this.#tokens]);
      for (const { lockToken, refusal } of outcomes) {
        // The settlement says what became of it.
        if (refusal !== undefined && !refusal.retryable) this.#tokens.delete(lockToken);
      }
    } catch (error) {
      if (isOver(error)) this.end();
      else reportFault(error);
    } finally {
      this.#isRenewing = false;
    }
  }
}

/** Renews the lock of a session until it is released. */
export class KeptSession {
  /** Whether another receiver may hold the session by now. */
  isLost = false;
  readonly #dependencies: Dependencies;
  readonly #path: EntityPath;
  readonly #session: SessionHandle;
  readonly #timer: Timer;

  constructor(
    dependencies: Dependencies,
    path: EntityPath,
    lockMs: number,
    session: SessionHandle,
  ) {
    this.#dependencies = dependencies;
    this.#path = path;
    this.#session = session;
    this.#timer = dependencies.scheduler.every(lockMs * RENEW_AFTER, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { broker, reportFault } = this.#dependencies;
    try {
      await broker.renewSession(this.#path, this.#session);
    } catch (error) {
      this.isLost ||= isLost(error);
      if (!this.isLost) reportFault(error);
    }
  }

  /** Renews it no more. */
  end(): void {
    this.#timer.cancel();
  }

  /** Gives the session back. */
  async release(): Promise<void> {
    this.end();
    try {
      await this.#dependencies.broker.releaseSession(this.#path, this.#session);
    } catch (error) {
      // Its lock ends by itself.
      if (!isLost(error)) this.#dependencies.reportFault(error);
    }
  }
}

/** The share of a lock's length after which it is renewed: two renewals may fail before it ends. */
const RENEW_AFTER = 1 / 3;

/** Whether an operation was refused because a session is not locked any more, or its entity is gone. */
export function isLost(error: unknown): boolean {
  return isOver(error) || (error instanceof BrokerError && error.code === 'SessionLockLost');
}
