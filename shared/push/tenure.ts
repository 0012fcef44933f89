import type { Clock } from '../domain/clock.ts';
import type { Consumer } from '../domain/consumers/consumer.ts';
import { counted } from '../domain/fault-words.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { present } from '../domain/present.ts';
import { ChangeSignal } from './change-signal.ts';
import { bytesOf, type Current, currentOf, lockMsOf } from './current-consumer.ts';
import { ExpectedInstants } from './expected-instants.ts';
import type { ConsumerLease } from './lease.ts';
import { MessageRate } from './message-rate.ts';
import type { ConsumerFault, ConsumerReference, Pause, RateLeft, Reply, Trouble } from './ports.ts';
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
  readonly changes: ChangeSignal;
  readonly expected = new ExpectedInstants();
  readonly rate: MessageRate;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Bytes of messages that are held, or may be soon. */
  #heldBytes = 0;
  /** Tasks that work on messages. */
  tasks = 0;
  /** Sessions that are kept locked while they wait for their next delivery. */
  waitingSessions = 0;
  /** The work on sessions, by id. */
  readonly sessions = new Map<string, Promise<void>>();
  readonly #close = () => this.#endLook();
  readonly #forgetClock: (() => void) | undefined;
  #look = new AbortController();
  readonly #dependencies: WorkerDependencies;
  readonly #endsAt: number;
  /** Tasks that wait for a slot; they get it before a look for more messages does. */
  #waitingTasks = 0;
  /** Of the consumer as it was last seen. */
  #version: number | undefined;

  constructor(
    dependencies: WorkerDependencies,
    of: ConsumerReference,
    lease: ConsumerLease,
    started: { readonly time: WorkerTime; readonly rate: RateLeft },
  ) {
    this.#dependencies = dependencies;
    this.clock = dependencies.clock;
    this.of = of;
    this.lease = lease;
    this.rate = new MessageRate(started.rate);
    this.changes = new ChangeSignal(dependencies.scheduler);
    this.#endsAt = started.time.endsAt;
    this.signal = started.time.signal;
    this.signal.addEventListener('abort', this.#close, { once: true });
    this.#forgetClock = dependencies.onClockMove?.(() => this.changes.notify());
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

  /** Ends the pause of a consumer that was changed: it may have another target. */
  noteVersion({ version }: Consumer): void {
    if (this.#version !== undefined && this.#version !== version) this.setPause(undefined);
    this.#version = version;
  }

  /** Notes a reply, which begins or ends a pause. */
  replied(reply: Reply): void {
    if (reply.kind === 'unavailable') {
      // Calls that ran at the same time count once.
      const pause = this.lease.pause ?? this.#pauseAfter(reply);
      this.#noteTrouble({ fault: this.#faultOf(reply.error), pause });
    } else if (reply.kind === 'answered') {
      const { length } = reply.failures;
      const fault = this.#faultOf(
        `The target answered that ${counted(length, 'message')} of a call failed.`,
      );
      this.#noteTrouble(length === 0 ? {} : { fault });
    } else {
      this.failed(reply.error);
    }
  }

  #pauseAfter(reply: Extract<Reply, { kind: 'unavailable' }>): Pause {
    const tries = this.lease.trouble.pause?.tries ?? 0;
    const ms = Math.min(pauseAfter(reply, tries), this.#dependencies.settings.pauseMsMax);
    return { until: this.clock.now() + ms, tries: tries + 1 };
  }

  /** Begins, goes on with or ends a pause. */
  setPause(pause: Pause | undefined): void {
    this.#noteTrouble(present({ ...this.lease.trouble, pause }));
  }

  /** Notes what went wrong. */
  failed(error: string): void {
    this.#noteTrouble({ ...this.lease.trouble, fault: this.#faultOf(error) });
  }

  /** Its text may be that of a target: control characters would move the cursor of a terminal. */
  #faultOf(error: string): ConsumerFault {
    const text = error.slice(0, PUSH.faultLengthMax).replaceAll(/\p{Cc}+/gu, ' ');
    return { at: this.clock.now(), error: text };
  }

  #noteTrouble(trouble: Trouble): void {
    const { fault } = trouble;
    const isFirst = fault !== undefined && this.lease.trouble.fault === undefined;
    this.lease.noteTrouble(trouble);
    if (isFirst) this.#dependencies.tellFault(this.of, fault);
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

  /** Waits until a look may begin, and takes its slot. Tasks that wait for one come first. */
  async untilLook(): Promise<Current | Ending> {
    return await this.#untilSlot((consumer) => this.#claimMs(consumer, this.#waitingTasks));
  }

  /** Waits until the next batch of a session may be claimed, and takes its slot. */
  async untilBatch(): Promise<Current | Ending> {
    return await this.#asTask(() => this.#untilSlot((consumer) => this.#claimMs(consumer, 0)));
  }

  /** Waits until a call with locked messages may begin, and takes its slot. No lock is held through a pause. */
  async untilCall(): Promise<Current | Ending> {
    return await this.#asTask(() =>
      this.#untilSlot((consumer) =>
        this.lease.pause === undefined ? this.#slotMs(consumer, 0) : 'paused',
      ),
    );
  }

  async #asTask(untilSlot: () => Promise<Current | Ending>): Promise<Current | Ending> {
    this.#waitingTasks++;
    try {
      // A look that waits for messages gives its slot back.
      const current = await this.current();
      if (current && this.lease.free(current.consumer.maxConcurrency) <= 0) this.#endLook();
      return await untilSlot();
    } finally {
      this.#waitingTasks--;
    }
  }

  /**
   * Waits until a call may begin, and takes its slot; returns why none may begin any more. `waitMs` = how long to wait,
   * as `#claimMs` says it. Throws what reading throws.
   */
  async #untilSlot(waitMs: (consumer: Consumer) => number | 'paused'): Promise<Current | Ending> {
    for (;;) {
      const current = await this.current();
      if (current === undefined || !current.consumer.enabled) return 'stopped';
      const { consumer } = current;
      this.noteVersion(consumer);
      const ending = this.ending(consumer.timeoutMs);
      if (ending !== undefined) return ending;
      const ms = waitMs(consumer);
      if (ms === 'paused') return 'paused';
      if (ms === 0) {
        this.lease.running++;
        return current;
      }
      await this.changes.next(ms);
    }
  }

  /**
   * How long to wait before messages may be claimed, while `others` tasks want slots, ms; 0 = they may be. `paused` =
   * too long to wait.
   */
  #claimMs(consumer: Consumer, others: number): number | 'paused' {
    const { waitMsMax, heldBytesMax } = this.#dependencies.settings;
    const { pause } = this.lease;
    if (pause !== undefined) {
      const left = pause.until - this.clock.now();
      return left > waitMsMax && this.tasks === 0 ? 'paused' : Math.min(left, PUSH.renewMs);
    }
    const slotMs = this.#slotMs(consumer, others);
    if (slotMs > 0) return slotMs;
    if (this.#heldBytes >= heldBytesMax) return PUSH.renewMs;
    return this.rate.waitMs(consumer.maxPerSecond, this.clock.now());
  }

  /** How long to wait for a slot, ms; 0 = there is one beside those for `others`. */
  #slotMs({ maxConcurrency }: Consumer, others: number): number {
    if (this.lease.free(maxConcurrency) > others) return 0;
    return Math.min(this.lease.formerCallsEndMs, PUSH.renewMs);
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
