import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { HOUR_MS } from '../../domain/units.ts';

/** Instants of one partition that lie closer together share a call, ms. */
const STEP_MS = 100;
/** Calls that are remembered; the sweep makes the others. */
const CALLS_MAX = 10_000;
/** A timer runs so long at most, ms; then another one follows. */
const TIMER_MS_MAX = HOUR_MS;
/** And so long at least, since the clock of the messages may stand still while that of timers goes on. */
const TIMER_MS_MIN = 10;

/** A partition of an entity, by which it is found again when its messages are due. */
export type DuePartition = Pick<Entity, 'id' | 'key'> & { readonly partition: number };

/**
 * Forwards scheduled messages of a topic, or of a queue that forwards, when they come due. Nobody receives from such an
 * entity, so no receive looks for them, and until the next sweep a minute may pass. It knows what this process has
 * stored; the sweep does the rest, also if this process ends before.
 */
export class DueForwards {
  readonly #scheduler: Scheduler;
  readonly #clock: Clock;
  readonly #forward: (due: DuePartition) => void;
  readonly #calls = new Map<string, { readonly at: number; readonly due: DuePartition }>();
  #timer: Timer | undefined;
  #isClosed = false;

  /** `forward` begins to forward what is due in a partition. */
  constructor(
    { scheduler, clock }: { readonly scheduler: Scheduler; readonly clock: Clock },
    forward: (due: DuePartition) => void,
  ) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.#forward = forward;
  }

  /** Has the messages of a partition forwarded at an instant, epoch ms. */
  add({ id, key, partition }: DuePartition, instant: number): void {
    if (this.#isClosed || this.#calls.size >= CALLS_MAX) return;
    const at = Math.ceil(instant / STEP_MS) * STEP_MS;
    this.#calls.set(`${at} ${id}.${partition}`, { at, due: { id, key, partition } });
    this.#start();
  }

  /** Looks at the clock, which may have been moved. */
  check(): void {
    const now = this.#clock.now();
    const due = new Map<string, DuePartition>();
    for (const [name, call] of this.#calls) {
      if (call.at > now) continue;
      this.#calls.delete(name);
      due.set(`${call.due.id}.${call.due.partition}`, call.due);
    }
    this.#start();
    for (const one of due.values()) this.#forward(one);
  }

  /** Forwards no more. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#calls.clear();
  }

  #start(): void {
    this.#timer?.cancel();
    if (this.#calls.size === 0) return;
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#calls.values()) next = Math.min(next, at);
    const ms = Math.min(TIMER_MS_MAX, Math.max(TIMER_MS_MIN, next - this.#clock.now()));
    this.#timer = this.#scheduler.after(ms, () => this.check());
    this.#timer.unref?.();
  }
}
