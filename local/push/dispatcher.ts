import { setMaxListeners } from 'node:events';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { ConsumerReference } from '../../shared/push/ports.ts';
import { PUSH } from '../../shared/push/push-limits.ts';
import { runWorker } from '../../shared/push/worker.ts';
import type { WorkerDependencies } from '../../shared/push/worker-dependencies.ts';

/** Runs the workers of the consumers of a local namespace. */
export class Dispatcher {
  readonly #dependencies: WorkerDependencies;
  /** By consumer: whether it was woken again since its worker began. */
  readonly #running = new Map<string, { isWoken: boolean }>();
  readonly #waiting = new Map<string, ConsumerReference>();
  /** By consumer: when it is looked at again. */
  readonly #again = new Map<string, Timer>();
  readonly #closing = new AbortController();
  readonly #ends = new Set<Promise<void>>();

  /** `startAnother` must wake the consumer here. */
  constructor(dependencies: WorkerDependencies) {
    this.#dependencies = dependencies;
    // Each worker listens; Node warns of more than ten.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Lets a worker look for messages of a consumer, soon. */
  wake(of: ConsumerReference): void {
    if (this.#closing.signal.aborted) return;
    const name = nameOf(of);
    const running = this.#running.get(name);
    if (running !== undefined) running.isWoken = true;
    else if (this.#running.size >= PUSH.workersMax) this.#waiting.set(name, of);
    else this.#start(name, of);
  }

  /** Lets the workers end: they claim no more, and wait a moment for their calls. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting.clear();
    for (const timer of this.#again.values()) timer.cancel();
    this.#again.clear();
    await Promise.all(this.#ends);
  }

  #start(name: string, of: ConsumerReference): void {
    const running = { isWoken: false };
    this.#running.set(name, running);
    const end = this.#run(of, () => this.#leave(name, running))
      .catch((error: unknown) => {
        this.#dependencies.reportFault(error);
        this.#wakeAfter(of, PUSH.busyMs);
      })
      .then(() => {
        this.#leave(name, running);
        this.#ends.delete(end);
        if (running.isWoken) this.wake(of);
        const [next] = this.#waiting;
        if (next === undefined) return;
        this.#waiting.delete(next[0]);
        this.wake(next[1]);
      });
    this.#ends.add(end);
  }

  /** Lets another worker start for a consumer. */
  #leave(name: string, running: { readonly isWoken: boolean }): void {
    if (this.#running.get(name) === running) this.#running.delete(name);
  }

  /** `leave` lets another worker start, before this one has ended. */
  async #run(of: ConsumerReference, leave: () => void): Promise<void> {
    const time = { endsAt: Number.POSITIVE_INFINITY, signal: this.#closing.signal };
    const startAnother = async (another: ConsumerReference) => {
      if (nameOf(another) === nameOf(of)) leave();
      await this.#dependencies.startAnother(another);
    };
    const end = await runWorker({ ...this.#dependencies, startAnother }, of, time);
    // The process that owns the consumer may have crashed; then its lease ends by itself.
    if (end === 'held' || end === 'lost' || end === 'failed') {
      this.#wakeAfter(of, PUSH.leaseMs);
    }
  }

  #wakeAfter(of: ConsumerReference, ms: number): void {
    if (this.#closing.signal.aborted) return;
    const name = nameOf(of);
    this.#again.get(name)?.cancel();
    const timer = this.#dependencies.scheduler.after(ms, () => {
      this.#again.delete(name);
      this.wake(of);
    });
    this.#again.set(name, timer);
  }
}

function nameOf({ entityId, consumer }: ConsumerReference): string {
  return `${entityId}/${consumer}`;
}
