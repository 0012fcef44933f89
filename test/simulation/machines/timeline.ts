/** The start of every simulation, epoch ms. */
export const START = Date.UTC(2026, 0, 1);

interface Event {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
}

/**
 * Virtual time: a queue of events, each at an instant. Only events run code, so the same events in the
 * same order give the same run. All promise callbacks that an event causes run before the next event.
 */
export class Timeline {
  /** The true time, epoch ms, which no process sees. */
  now = START;
  /** How many events have run. */
  count = 0;
  readonly #events: Event[] = [];
  readonly #eventsPerTurn: number;
  #order = 0;

  /**
   * `eventsPerTurn`: the number of events between two turns of the Node event loop. A turn costs as much as
   * an event; Node reports unhandled rejections then.
   */
  constructor(eventsPerTurn = 256) {
    this.#eventsPerTurn = eventsPerTurn;
  }

  /**
   * Schedules `work` at an instant; events at the same instant run in the order of scheduling. Instants are
   * whole milliseconds, so that sums of them are exact.
   */
  at(instant: number, work: () => void): void {
    this.#push({ at: Math.max(Math.ceil(instant), this.now), order: this.#order++, work });
  }

  /** Schedules `work` after a span, ms. */
  after(ms: number, work: () => void): void {
    this.at(this.now + ms, work);
  }

  /** Runs events until a condition holds. Returns false if no event is left and it does not hold. */
  async runUntil(isOver: () => boolean): Promise<boolean> {
    await promisesSettled();
    while (!isOver()) {
      if (this.count % this.#eventsPerTurn === 0) await eventLoopTurn();
      const event = this.#pop();
      if (event === undefined) return false;
      this.now = event.at;
      this.count++;
      event.work();
      await promisesSettled();
    }
    return true;
  }

  /** Resolves after a span of virtual time, ms. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Adds to a binary heap whose first event is the earliest. */
  #push(event: Event): void {
    const events = this.#events;
    let place = events.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = events[parent];
      if (above === undefined || isBefore(above, event)) break;
      events[place] = above;
      place = parent;
    }
    events[place] = event;
  }

  #pop(): Event | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      const left = events[child];
      if (left === undefined) break;
      const right = events[child + 1];
      let smaller = left;
      if (right !== undefined && isBefore(right, left)) {
        smaller = right;
        child++;
      }
      if (isBefore(last, smaller)) break;
      events[place] = smaller;
      place = child;
    }
    events[place] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/**
 * Resolves when all promise callbacks have run. This and `eventLoopTurn` are the only uses of real
 * scheduling, and do not influence the run.
 */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Runs one turn of the event loop, for signals, output and the timers of a test runner. */
function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
