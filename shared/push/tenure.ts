import type { Clock } from '../domain/clock.ts';
import type { Consumer } from '../domain/consumers/consumer.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { Changes } from './change-signal.ts';
import { bytesOf, type Current, currentOf, lockMsOf } from './current-consumer.ts';
import { Expected } from './expected-instants.ts';
import type { ConsumerLease } from './lease.ts';
import { MessageRate } from './message-rate.ts';
import type { ConsumerReference, RateLeft, Reply } from './ports.ts';
import { PUSH } from './push-limits.ts';
import { pauseAfter } from './settlements.ts';
import type { WorkerDependencies, WorkerTime } from './worker-dependencies.ts';

/**
 * Why a worker ends: nothing is there (`idle`), its time is over (`over`), its process closes (`closed`), another one
 * owns the consumer (`lost`), the target cannot be called (`paused`), or the consumer is disabled or gone (`stopped`).
 */
export type Ending = 'idle' | 'over' | 'closed' | 'lost' | 'paused' | 'stopped';

/** The time for which one worker owns a consumer: its slots, its rate, its pauses, and what it expects. */
export class Tenure {
  readonly of: ConsumerReference;
  readonly lease: ConsumerLease;
  readonly changes: Changes;
  readonly expected = new Expected();
  readonly rate: MessageRate;
  readonly signal: AbortSignal;
  /** Bytes of messages that are held, or may be soon. */
  #heldBytes = 0;
  /** Tasks that work on messages. */
  tasks = 0;
  /** Sessions that are kept locked while they wait for their next delivery. */
  waitingSessions = 0;
  readonly #close: () => void;
  readonly #forgetClock: (() => void) | undefined;
  #look = new AbortController();
  readonly #dependencies: WorkerDependencies;
  readonly #endsAt: number;
  /** Tasks that wait for a slot; they get it before a look for more messages does. */
  #waitingTasks = 0;
  #pause: { readonly until: number; readonly tries: number } | undefined;
  /** Of the consumer as it was last seen. */
  #version: number | undefined;

  constructor(
    dependencies: WorkerDependencies,
    of: ConsumerReference,
    lease: ConsumerLease,
    started: { readonly time: WorkerTime; readonly rate: RateLeft },
  ) {
    this.#dependencies = dependencies;
    this.of = of;
    this.lease = lease;
    this.rate = new MessageRate(started.rate);
    this.changes = new Changes(dependencies.scheduler);
    this.#endsAt = started.time.endsAt;
    this.signal = started.time.signal;
    this.#close = () => this.#endLook();
    this.signal.addEventListener('abort', this.#close, { once: true });
    this.#forgetClock = dependencies.onClockMove?.(() => this.changes.notify());
  }

  get clock(): Clock {
    return this.#dependencies.clock;
  }

  /**
   * Begins a look for messages of a consumer. Its signal ends the wait when the worker closes, or nothing is under way
   * any more.
   */
  beginLook({ entity, consumer }: Current): AbortSignal {
    if (this.tasks === 0) this.#dependencies.forgetHints(entity, consumer.subQueue);
    this.#look = new AbortController();
    if (this.signal.aborted) this.#look.abort();
    return this.#look.signal;
  }

  #endLook(): void {
    this.#look.abort();
    this.changes.notify();
  }

  /** The consumer as it is now; undefined = it is gone. */
  async current(): Promise<Current | undefined> {
    return currentOf(await this.#dependencies.entities.find(this.of.entityKey), this.of);
  }

  /** The pause, which ends at an instant, epoch ms, after so many calls in a row that could not be made. */
  get pause(): { readonly until: number; readonly tries: number } | undefined {
    return this.#pause !== undefined && this.#pause.until > this.clock.now()
      ? this.#pause
      : undefined;
  }

  /** Ends the pause of a consumer that was changed: it may have another target. */
  noteVersion({ version }: Consumer): void {
    if (this.#version !== undefined && this.#version !== version) this.#pause = undefined;
    this.#version = version;
  }

  /** Notes a reply, which begins or ends a pause. */
  replied(reply: Reply): void {
    if (reply.kind === 'answered') {
      this.#pause = undefined;
      const { length } = reply.failures;
      if (length === 0) this.lease.fault = undefined;
      else this.failed(`The target answered that ${length} messages of a call failed.`);
      return;
    }
    this.failed(reply.error);
    if (reply.kind !== 'unavailable') return;
    // Calls that ran at the same time count once.
    if (this.pause !== undefined) return;
    const tries = this.#pause?.tries ?? 0;
    this.#pause = { until: this.clock.now() + pauseAfter(reply, tries), tries: tries + 1 };
  }

  /** Goes on with the pauses of the worker before. */
  continuePause(pause: { readonly until: number; readonly tries: number } | undefined): void {
    this.#pause = pause;
  }

  /** Notes what went wrong. */
  failed(error: string): void {
    this.lease.fault = { at: this.clock.now(), error: error.slice(0, PUSH.faultLengthMax) };
  }

  /** Why no new call may begin any more; undefined = it may. */
  ending(timeoutMs: number): Ending | undefined {
    if (this.lease.isLost) return 'lost';
    if (this.signal.aborted) return 'closed';
    const left = this.#endsAt - this.#dependencies.scheduler.now();
    return left < timeoutMs + PUSH.leaseMarginMs ? 'over' : undefined;
  }

  /** How long a task may collect messages before it must call, ms. */
  collectMs(timeoutMs: number): number {
    const left = this.#endsAt - this.#dependencies.scheduler.now();
    return Math.max(0, left - timeoutMs - PUSH.leaseMarginMs - PUSH.lastCallMs);
  }

  /** Waits as `untilReady` for a task, before the next look. `isHeld` = its messages are locked already. */
  async untilNext({ isHeld }: { readonly isHeld: boolean }): Promise<Current | Ending> {
    this.#waitingTasks++;
    try {
      // A look that waits for messages gives its slot back.
      const current = await this.current();
      if (current && this.lease.free(current.consumer.maxConcurrency) <= 0) this.#endLook();
      return await this.untilReady(isHeld ? 'batch' : 'session');
    } finally {
      this.#waitingTasks--;
    }
  }

  /**
   * Waits until a call may begin, and takes its slot. Returns why no call may begin any more. Throws what reading
   * throws.
   */
  async untilReady(asker: 'look' | 'session' | 'batch' = 'look'): Promise<Current | Ending> {
    for (;;) {
      const current = await this.current();
      if (current === undefined || !current.consumer.enabled) return 'stopped';
      const { consumer } = current;
      this.noteVersion(consumer);
      const ending = this.ending(consumer.timeoutMs);
      if (ending !== undefined) return ending;
      const waitMs = this.#waitMs(consumer, asker);
      if (waitMs === 'paused') return 'paused';
      if (waitMs === 0) {
        this.lease.running++;
        return current;
      }
      await this.changes.next(waitMs);
    }
  }

  /** How long to wait before a call may begin, ms; 0 = it may. `paused` = too long to wait. */
  #waitMs(
    { maxConcurrency, maxPerSecond }: Consumer,
    asker: 'look' | 'session' | 'batch',
  ): number | 'paused' {
    const { settings } = this.#dependencies;
    const isHeld = asker === 'batch';
    const before = asker === 'look' ? this.#waitingTasks : 0;
    const { pause } = this;
    if (pause !== undefined) {
      const left = pause.until - this.clock.now();
      // No lock is held through a pause.
      if (isHeld || (left > settings.waitMsMax && this.tasks === 0)) return 'paused';
      return Math.min(left, PUSH.renewMs);
    }
    if (this.lease.free(maxConcurrency) <= before) {
      return Math.min(this.lease.formerCallsEndMs, PUSH.renewMs);
    }
    if (isHeld) return 0;
    if (this.#heldBytes >= settings.heldBytesMax) return PUSH.renewMs;
    return this.rate.waitMs(maxPerSecond, this.clock.now());
  }

  /** Gives a slot back. */
  freeSlot(): void {
    this.lease.running--;
    this.changes.notify();
  }

  /** How long the next look may wait for messages, ms. */
  get lookMs(): number {
    const { lingerMs, waitMsMax } = this.#dependencies.settings;
    // Calls under way may end, and free a place for what arrives meanwhile.
    if (this.tasks > 0) return PUSH.renewMs;
    const next = this.expected.next(this.clock.now());
    const expectedMs = next === undefined ? Infinity : next - this.clock.now();
    return expectedMs <= waitMsMax ? Math.min(expectedMs + 1, PUSH.renewMs) : lingerMs;
  }

  /** Whether a look without messages is the last one: nothing is under way or expected soon. */
  isIdle(): boolean {
    if (this.tasks > 0) return false;
    const now = this.clock.now();
    const next = this.expected.next(now);
    return next === undefined || next - now > this.#dependencies.settings.waitMsMax;
  }

  /** Notes that messages become available again at an instant. */
  expect(instant: number): void {
    this.expected.add(instant, this.clock.now());
  }

  /** Notes that locks end for which nothing more can be done: messages that may be locked have a whole one. */
  expectLockEnds({ entity }: Pick<Current, 'entity'>, from = this.clock.now()): void {
    this.expect(from + lockMsOf(entity));
  }

  /** Counts bytes of messages that are held from now on; fewer than none are held no more. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (bytes < 0) this.changes.notify();
  }

  /** Runs a task that works on messages. It never throws. */
  start(messages: readonly LockedMessage[], task: () => Promise<void>): void {
    const bytes = bytesOf(messages);
    this.hold(bytes);
    this.tasks++;
    task()
      .catch((error: unknown) => this.#dependencies.reportFault(error))
      .finally(() => {
        this.hold(-bytes);
        this.tasks--;
        if (this.tasks === 0 && this.#dependencies.settings.lingerMs === 0) this.#endLook();
        else this.changes.notify();
      });
  }

  /** Listens to nothing any more. */
  end(): void {
    this.signal.removeEventListener('abort', this.#close);
    this.#forgetClock?.();
  }

  /** Resolves when no task is left, or a moment after the process began to close. */
  async untilDone(): Promise<void> {
    const { scheduler, settings } = this.#dependencies;
    let until = Number.POSITIVE_INFINITY;
    while (this.tasks > 0 && scheduler.now() < until) {
      if (this.signal.aborted) until = Math.min(until, scheduler.now() + settings.graceMs);
      await this.changes.next(until - scheduler.now());
    }
  }
}
