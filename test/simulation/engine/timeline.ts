/** The instant at which every simulation begins, epoch ms. */
export const START = Date.UTC(2026, 0, 1);

interface Event {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
}

/**
 * Virtual time: a queue of events, each of which happens at an instant. Nothing else makes anything
 * happen, so the same events drawn in the same order give the same run. What an event sets off
 * within a process, down to the last promise, is over before the next event begins.
 */
export class Timeline {
  /** Epoch ms: the true time, which no process sees. */
  now = START;
  /** How many events have happened. */
  count = 0;
  readonly #events: Event[] = [];
  readonly #eventsPerTurn: number;
  #order = 0;

  /**
   * `eventsPerTurn`: after so many events whatever else the thread has to do gets its turn, which costs as much
   * as an event; failures that nobody handles are told then.
   */
  constructor(eventsPerTurn = 256) {
    this.#eventsPerTurn = eventsPerTurn;
  }

  /**
   * Has something happen at an instant; of those at the same instant, the first one noted first. Instants are
   * whole milliseconds, so that sums of them are exact.
   */
  at(instant: number, work: () => void): void {
    this.#push({ at: Math.max(Math.ceil(instant), this.now), order: this.#order++, work });
  }

  /** Has something happen after so many milliseconds. */
  after(ms: number, work: () => void): void {
    this.at(this.now + ms, work);
  }

  /** Lets events happen until a condition holds. False = no event is left, and it does not hold. */
  async runUntil(isOver: () => boolean): Promise<boolean> {
    await promisesSettled();
    while (!isOver()) {
      if (this.count % this.#eventsPerTurn === 0) await othersServed();
      const event = this.#pop();
      if (event === undefined) return false;
      this.now = event.at;
      this.count++;
      event.work();
      await promisesSettled();
    }
    return true;
  }

  /** Resolves after so many milliseconds of virtual time. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** A binary heap, the earliest event first. */
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
 * Resolves when no promise has anything left to do. Together with `othersServed` the one use of real
 * scheduling, which decides nothing.
 */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Lets this thread serve the rest of the process: signals, output, timers of a test runner. */
function othersServed(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
