import { BrokerError } from '../../domain/broker-error.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { HOUR_MS } from '../../domain/units.ts';

/** Instants of one partition that lie closer together share a call, ms. */
const STEP_MS = 100;
/** Calls that are remembered, the soonest ones; the sweep makes the others. */
const CALLS_MAX = 10_000;
/** So many of the latest are forgotten together when there are more. */
const FORGOTTEN = 1000;
/** Partitions that are forwarded at the same time. */
const AT_ONCE = 8;
/** A timer runs so long at most, ms; then another one follows. */
const TIMER_MS_MAX = HOUR_MS;
/** And so long at least, since the clock of the messages may stand still while that of timers goes on. */
const TIMER_MS_MIN = 10;

/** A partition of an entity, by which it is found again when its messages are due. */
export type DuePartition = Pick<Entity, 'id' | 'key'> & { readonly partition: number };

interface DueForwardsParts {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  /** Runs work that no client waits for, and reports its failure. */
  readonly background: (work: () => Promise<void>) => void;
  /** Forwards what is due in a partition. */
  readonly forward: (due: DuePartition) => Promise<void>;
}

/**
 * Forwards scheduled messages of a topic, or of a queue that forwards, when they come due. Nobody receives from such an
 * entity, so no receive looks for them, and until the next sweep a minute may pass. It knows what this process has
 * stored; the sweep does the rest, also if this process ends before.
 */
export class DueForwards {
  readonly #parts: DueForwardsParts;
  readonly #calls = new Map<string, { readonly at: number; readonly due: DuePartition }>();
  /** The names of the partitions that are being forwarded. Each waits for itself, so that its order is kept. */
  readonly #running = new Set<string>();
  #timer: Timer | undefined;
  /** The instant for which the timer runs, epoch ms. */
  #next = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(parts: DueForwardsParts) {
    this.#parts = parts;
  }

  /** Has the messages of a partition forwarded at an instant, epoch ms. */
  add({ id, key, partition }: DuePartition, instant: number): void {
    if (this.#isClosed) return;
    const at = Math.ceil(instant / STEP_MS) * STEP_MS;
    const name = `${at} ${id}.${partition}`;
    if (this.#calls.has(name)) return;
    this.#calls.set(name, { at, due: { id, key, partition } });
    if (this.#calls.size > CALLS_MAX) this.#forgetLatest();
    // It may have come due while it was being stored.
    if (at <= this.#parts.clock.now()) this.check();
    else if (at < this.#next) this.#startFor(at);
  }

  /** Looks at the clock, which may have been moved. */
  check(): void {
    const now = this.#parts.clock.now();
    const begun = new Map<string, DuePartition>();
    for (const [name, { at, due }] of this.#calls) {
      const partition = `${due.id}.${due.partition}`;
      if (at > now || this.#running.has(partition)) continue;
      if (!begun.has(partition) && this.#running.size + begun.size >= AT_ONCE) continue;
      this.#calls.delete(name);
      begun.set(partition, due);
    }
    this.#start();
    for (const [partition, due] of begun) this.#begin(partition, due);
  }

  /** Begins no more. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#calls.clear();
  }

  #begin(partition: string, due: DuePartition): void {
    this.#running.add(partition);
    this.#parts.background(async () => {
      try {
        await this.#parts.forward(due);
      } catch (error) {
        // A full or missing destination, for instance; the sweep tries again.
        if (!(error instanceof BrokerError)) throw error;
      } finally {
        this.#running.delete(partition);
        this.check();
      }
    });
  }

  #forgetLatest(): void {
    const latest = [...this.#calls].sort(([, a], [, b]) => b.at - a.at);
    for (const [name] of latest.slice(0, FORGOTTEN)) this.#calls.delete(name);
  }

  /** Starts the timer for the next instant. What is due already waits for the end of a call that runs. */
  #start(): void {
    const now = this.#parts.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#calls.values()) if (at > now) next = Math.min(next, at);
    this.#startFor(next);
  }

  #startFor(next: number): void {
    this.#timer?.cancel();
    this.#next = next;
    if (next === Number.POSITIVE_INFINITY) return;
    const ms = Math.min(TIMER_MS_MAX, Math.max(TIMER_MS_MIN, next - this.#parts.clock.now()));
    this.#timer = this.#parts.scheduler.after(ms, () => this.check());
    this.#timer.unref?.();
  }
}
