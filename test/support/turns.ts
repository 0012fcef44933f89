import type { Composition } from '../../lambdas/http/compose.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * More than any process trusts its memory: entities are kept for 2 s, what is known of the front of a
 * queue for 1.5 s, due times for 1 s.
 */
const FROZEN_MS = 2500;

/**
 * Processes of one namespace behind one address, as functions behind a gateway: each request goes to
 * the next process, which was frozen for longer than it trusts its memory, and finishes its work
 * before the answer leaves. A lock is settled by another process than the one that took it.
 */
export class Turns {
  readonly #processes: readonly Composition[];
  readonly #time: VirtualTime;
  /** By the path of a lock: the process that took it. */
  readonly #lockedBy = new Map<string, number>();
  #next = 0;

  constructor(processes: readonly Composition[], time: VirtualTime) {
    this.#processes = processes;
    this.#time = time;
  }

  /** Answers a request; for `startServer`. */
  async fetch(request: Request, bindings?: object): Promise<Response> {
    const { pathname } = new URL(request.url);
    const lockedBy = this.#lockedBy.get(pathname);
    const number = lockedBy === undefined ? this.#nextNumber() : this.#after(lockedBy);
    const process = this.#wake(number);
    const response = await process.app.fetch(request, bindings);
    await process.idle();
    const location = response.headers.get('location');
    if (location !== null) this.#lockedBy.set(new URL(location).pathname, number);
    return response;
  }

  /** One run of the sweep, by the next process. */
  async sweep(): Promise<void> {
    await this.#wake(this.#nextNumber()).sweep();
  }

  /** Resolves when no process has anything left to do. */
  async idle(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.idle()));
  }

  #wake(number: number): Composition {
    this.#time.skip(FROZEN_MS);
    const process = this.#processes[number];
    if (process === undefined) throw new Error(`There is no process ${number}.`);
    return process;
  }

  #nextNumber(): number {
    const number = this.#next;
    this.#next = this.#after(number);
    return number;
  }

  #after(number: number): number {
    return (number + 1) % this.#processes.length;
  }
}
