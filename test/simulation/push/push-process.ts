import { composeDependencies } from '../../../shared/app/compose-dependencies.ts';
import { sweepOf } from '../../../shared/app/compose-sweep.ts';
import { composeWorker } from '../../../shared/app/push/compose-worker.ts';
import { storedWakes, wakeForItems } from '../../../shared/app/push/stored-wakes.ts';
import type { ConsumerReference, Targets } from '../../../shared/push/ports.ts';
import { runWorker } from '../../../shared/push/worker.ts';
import type { WorkerSettings } from '../../../shared/push/worker-dependencies.ts';
import { synchronousCompression } from '../machines/compression.ts';
import { Machine } from '../machines/machine.ts';
import { type NetworkFaults, SimulatedNetwork } from '../machines/network.ts';
import { NAMESPACE, TABLES } from '../machines/process.ts';
import type { Random } from '../machines/random.ts';
import type { Timeline } from '../machines/timeline.ts';
import { simulatedClients } from '../tables/client.ts';
import type { SimulatedDatabase } from '../tables/database.ts';

/** What the processes of a run have in common. */
export interface PushSurroundings {
  readonly timeline: Timeline;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly faults: () => NetworkFaults;
  /** Starts a worker for a consumer in a process of its own. */
  readonly start: (of: ConsumerReference) => Promise<void>;
  readonly reportFault: (error: unknown) => void;
}

const LEASE_MS = 2000;
/** How long a worker of a simulation runs, so that it hands over several times. */
export const TENURE_MS = 90_000;
const SETTINGS: WorkerSettings = {
  lingerMs: 0,
  waitMsMax: 30_000,
  pauseMsMax: 300_000,
  graceMs: 0,
  heldBytesMax: 1_000_000,
  claim: { form: 'batch', bytes: 1_000_000, oneMayExceed: true },
};

/** A process of a namespace with push, on its own machine. */
export class PushProcess {
  readonly machine: Machine;
  readonly dependencies: ReturnType<typeof composeDependencies>;
  readonly #surroundings: PushSurroundings;
  #isOver = false;

  /** `isWorker` = it pushes, so what it makes available itself need not wake anybody. */
  constructor(name: string, surroundings: PushSurroundings, isWorker = false) {
    this.#surroundings = surroundings;
    const { timeline, database, random, faults, start, reportFault } = surroundings;
    const own = random.fork(name);
    // Two of them differ by less than the broker reckons with, which is a second.
    const aheadMs = own.between(-499, 499);
    this.machine = new Machine(timeline, { aheadMs, standsStill: own.chance(0.5) });
    const network = new SimulatedNetwork({
      timeline,
      random: own.fork('network'),
      endpoint: this.machine,
      faults,
      count: () => {},
    });
    this.dependencies = composeDependencies({
      ...simulatedClients(database, network),
      tables: TABLES,
      namespace: NAMESPACE,
      clock: this.machine.clock,
      random: own.fork('own'),
      scheduler: this.machine,
      compression: synchronousCompression,
      rootKey: 'none',
      leaseMs: LEASE_MS,
      reportFault,
      ...(isWorker ? {} : { consumers: (stores) => storedWakes(stores, start) }),
    });
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends the process at once. */
  crash(): void {
    this.#isOver = true;
    this.machine.crash();
  }

  /** Stops the process for a time. */
  freeze(ms: number): void {
    this.machine.freeze();
    this.#surroundings.timeline.after(ms, () => this.machine.thaw());
  }

  /** Runs work in the process; `onCrash` hears of nothing else. */
  run<Value>(work: () => Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const { timeline } = this.#surroundings;
      this.machine.deliver(timeline.now, () => void work().then(resolve, reject));
    });
  }

  /** One run of a worker, as a function that pushes does it. */
  async work(of: ConsumerReference, targets: Targets): Promise<string> {
    const { start, reportFault } = this.#surroundings;
    const tellFault = () => {};
    const parts = { targets, settings: SETTINGS, startAnother: start, tellFault, reportFault };
    const worker = composeWorker(this.dependencies, parts);
    const time = { endsAt: this.machine.now() + TENURE_MS, signal: new AbortController().signal };
    return await runWorker(worker, of, time);
  }

  /** What the function does that reads the stream. */
  async wake(partitionKeys: readonly string[]): Promise<void> {
    const { context, documents, dueWork, entities } = this.dependencies;
    const stores = { ...context, documents, dueWork, entities };
    await wakeForItems(stores, partitionKeys, this.#surroundings.start);
  }

  /** One run of the sweep. */
  async sweep(): Promise<void> {
    await sweepOf(this.dependencies)();
  }
}
