import type { Composition } from '../../lambdas/http/compose.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * Longer than every cache of a process: entities are cached for 2 s, scan hints for 1.5 s, due times for
 * 1 s.
 */
const FROZEN_MS = 2500;

/**
 * Processes of one namespace behind one address, like functions behind API Gateway: each request goes to the
 * next process, whose caches have expired while it was frozen, and which finishes its work before it answers.
 * A lock is settled by another process than the one that took it.
 */
export class AlternatingProcesses {
  readonly #processes: readonly Composition[];
  readonly #time: VirtualTime;
  /** The process that took each lock, by the path of the lock. */
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

  /** Runs the sweep once, in the next process. */
  async sweep(): Promise<void> {
    await this.#wake(this.#nextNumber()).sweep();
  }

  /** Resolves when all processes have finished their background work. */
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
