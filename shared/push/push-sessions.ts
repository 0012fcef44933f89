import type { SessionLock } from '../broker/broker.ts';
import { resultOf } from '../domain/result-of.ts';
import { callTarget } from './call-target.ts';
import { collect } from './collect.ts';
import { bytesOf, type Current, lockMsOf } from './current-consumer.ts';
import { isLost, KeptSession } from './kept-locks.ts';
import { lookUntilEnd } from './look.ts';
import type { Batch } from './ports.ts';
import { PUSH } from './push-limits.ts';
import { giveBack, withoutRefused } from './settle-batch.ts';
import { divide } from './settlements.ts';
import type { Ending, Tenure } from './tenure.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/**
 * Pushes the messages of a queue with sessions, one batch at a time of each session, until no session is ready or the
 * worker must end. Throws what an accept throws.
 */
export async function pushSessions(
  dependencies: WorkerDependencies,
  tenure: Tenure,
): Promise<Ending> {
  return await lookUntilEnd(tenure, async (current, look) => {
    const options = { waitMs: tenure.lookMs, signal: look };
    const session = await dependencies.broker.acceptSession(current.path, options);
    if (session === undefined) return false;
    const { sessions } = tenure;
    const { sessionId } = session;
    const work = new SessionWork(dependencies, tenure, current, session);
    tenure.start([], async () => {
      const run = work.run(sessions.get(sessionId));
      sessions.set(sessionId, run);
      await run.finally(() => sessions.get(sessionId) === run && sessions.delete(sessionId));
    });
    return true;
  });
}

/** The work on one session that is locked. */
class SessionWork {
  readonly #dependencies: WorkerDependencies;
  readonly #tenure: Tenure;
  readonly #session: SessionLock;
  readonly #kept: KeptSession;
  #current: Current;
  #hasSlot = true;
  #heldBytes = 0;

  constructor(
    dependencies: WorkerDependencies,
    tenure: Tenure,
    current: Current,
    session: SessionLock,
  ) {
    this.#dependencies = dependencies;
    this.#tenure = tenure;
    this.#current = current;
    this.#session = session;
    this.#kept = new KeptSession(dependencies, current.path, lockMsOf(current.entity), session);
  }

  /**
   * Pushes the messages of the session, and gives it back. `former` = the work on it under a lock that has ended, as an
   * update of the entity ends all: its call may go on.
   */
  async run(former: Promise<void> | undefined): Promise<void> {
    try {
      if (former !== undefined && !(await this.#after(former))) return;
      for (let batches = 0; batches < PUSH.sessionBatchesMax; batches++) {
        if (this.#kept.isLost || !(await this.#pushNext())) break;
      }
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#kept.isLost = true;
    } finally {
      this.#freeSlot();
      if (this.#kept.isLost) this.#kept.end();
      else await this.#kept.release();
    }
  }

  /** Keeps the session locked until other work has ended, without a slot. False = as for `#nextSlot`. */
  async #after(other: Promise<void>): Promise<boolean> {
    this.#freeSlot();
    // After a reset it is a session of another entity, which has a worker of its own.
    if ((await this.#tenure.current()) === undefined) return false;
    await resultOf(other);
    return await this.#nextSlot();
  }

  /** Pushes the next messages. False = there are none, or the session must be given back. */
  async #pushNext(): Promise<boolean> {
    const { entity, consumer } = this.#current;
    let bytes = 0;
    // It is not known yet how many it gets.
    this.#hold(this.#dependencies.settings.claim.bytes);
    const messages = await collect(this.#dependencies, this.#tenure, {
      current: this.#current,
      waitMs: 0,
      session: this.#session,
      onLocked: (locked) => {
        bytes += bytesOf(locked);
        this.#hold(bytes);
      },
    });
    const { sessionId } = this.#session;
    const batch = { entity, consumer, sessionId, messages };
    const all = await withoutRefused(this.#dependencies, this.#tenure, batch);
    const parts = divide(all);
    for (const [i, part] of parts.entries()) {
      const called = await callTarget(this.#dependencies, this.#tenure, part);
      if (called.kind === 'called' && called.delays === undefined) continue;
      await this.#giveBack(parts.slice(i + 1));
      // A message that is still locked would be overtaken; with the session it is given back.
      if (called.kind !== 'called' || called.delays === undefined) return false;
      return await this.#waitFor(Math.max(...called.delays));
    }
    return messages.length > 0 && (await this.#nextSlot());
  }

  async #giveBack(batches: readonly Batch[]): Promise<void> {
    const [first] = batches;
    if (first === undefined) return;
    const messages = batches.flatMap((batch) => batch.messages);
    await giveBack(this.#dependencies, this.#tenure, { ...first, messages });
  }

  /** Keeps the session locked until its next delivery, without a slot. False = it must be given back. */
  async #waitFor(delayMs: number): Promise<boolean> {
    const tenure = this.#tenure;
    this.#freeSlot();
    if (tenure.waitingSessions >= PUSH.waitingSessionsMax) {
      // Its lock ends by itself, and nobody gets the session before.
      this.#kept.isLost = true;
      tenure.expectLockEnds(this.#current);
      return false;
    }
    tenure.waitingSessions++;
    try {
      const until = tenure.clock.now() + delayMs;
      for (;;) {
        const left = until - tenure.clock.now();
        if (left <= 0) return await this.#nextSlot();
        const isOver = tenure.ending(this.#current.consumer.timeoutMs) !== undefined;
        if (isOver || this.#kept.isLost) return false;
        await tenure.changes.next(Math.min(left, PUSH.renewMs));
      }
    } finally {
      tenure.waitingSessions--;
    }
  }

  /** Takes the slot for the next batch, if it has none. False = no call may begin any more. */
  async #nextSlot(): Promise<boolean> {
    this.#freeSlot();
    const current = await this.#tenure.untilBatch();
    if (typeof current === 'string') return false;
    this.#current = current;
    this.#hasSlot = true;
    return !this.#kept.isLost;
  }

  #hold(bytes: number): void {
    const before = this.#heldBytes;
    this.#heldBytes = bytes;
    this.#tenure.hold(bytes - before);
  }

  /** Gives the slot back, and holds no messages any more. */
  #freeSlot(): void {
    this.#hold(0);
    if (this.#hasSlot) this.#tenure.freeSlot();
    this.#hasSlot = false;
  }
}
