import type { MovableClock } from '../movable-clock.ts';

/** Instants of one entity that lie closer together share a reminder, ms. */
const STEP_MS = 100;
/** Reminders that are kept; a forgotten one is left to the sweep. */
const REMINDERS_MAX = 10_000;
/** A timer runs so long at most, ms, and then another one follows. */
const TIMER_MS_MAX = 3_600_000;

interface Reminder {
  readonly entityKey: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Calls back when instants of a namespace's clock have come, also if the clock is moved there. */
export class Reminders {
  readonly #clock: MovableClock;
  readonly #onDue: (entityKey: string) => void;
  readonly #reminders = new Map<string, Reminder>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(clock: MovableClock, onDue: (entityKey: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    clock.onMove(() => this.#check());
  }

  /** Calls back for an entity, by its key, at an instant, epoch ms. */
  add(entityKey: string, instant: number): void {
    if (this.#isClosed || this.#reminders.size >= REMINDERS_MAX) return;
    const at = Math.ceil(instant / STEP_MS) * STEP_MS;
    this.#reminders.set(`${at} ${entityKey}`, { entityKey, at });
    this.#schedule();
  }

  /** Calls back no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#reminders.clear();
  }

  #check(): void {
    const now = this.#clock.now();
    const due = [...this.#reminders].filter(([, { at }]) => at <= now);
    for (const [name] of due) this.#reminders.delete(name);
    this.#schedule();
    for (const entityKey of new Set(due.map(([, reminder]) => reminder.entityKey))) {
      this.#onDue(entityKey);
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#reminders.size === 0 || this.#isClosed) return;
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#reminders.values()) next = Math.min(next, at);
    const ms = Math.min(TIMER_MS_MAX, Math.max(0, next - this.#clock.now()));
    this.#timer = setTimeout(() => this.#check(), ms);
    this.#timer.unref();
  }
}
