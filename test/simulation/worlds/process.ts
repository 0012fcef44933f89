import {
  type ComposedDependencies,
  composeDependencies,
} from '../../../shared/app/compose-dependencies.ts';
import { composeManagement } from '../../../shared/app/compose-management.ts';
import { sweepOf } from '../../../shared/app/compose-sweep.ts';
import { LEASE_MS } from '../../../shared/app/leases.ts';
import type { Broker } from '../../../shared/broker/broker.ts';
import { MANY_AT_ONCE } from '../../../shared/broker/group-commit/create-grouped-broker.ts';
import type { Management } from '../../../shared/broker/management/management.ts';
import type { TableNames } from '../../../shared/storage/schema/tables.ts';
import { synchronousCompression } from '../machines/compression.ts';
import { Random } from '../machines/random.ts';
import { simulatedClients } from '../tables/client.ts';
import type { SimulatedDatabase } from '../tables/database.ts';
import type { Network } from '../tables/network.ts';
import { ProcessScheduler, type TakePause, type WorldTime } from './time.ts';

export const TABLES: TableNames = { entities: 'entities', messages: 'messages' };
const NAMESPACE = 'worlds';

/** The settings of a process. */
export interface ProcessSettings {
  readonly name: string;
  readonly time: WorldTime;
  readonly database: SimulatedDatabase;
  /** Carries its requests to the tables. */
  readonly carry: Network['carry'];
  readonly takePause: TakePause;
  /** Called with each error of background work. */
  readonly reportFault: (error: unknown) => void;
}

/** A process of a world: the product's dependencies, without HTTP routes, with its own memory. */
export class WorldProcess {
  readonly name: string;
  readonly dependencies: ComposedDependencies;
  readonly sweep: () => Promise<boolean>;
  /** The wall clock minus the time of the world, ms. */
  aheadMs = 0;
  readonly #scheduler: ProcessScheduler;
  #management: Management | undefined;

  constructor({ name, time, database, carry, takePause, reportFault }: ProcessSettings) {
    this.name = name;
    this.#scheduler = new ProcessScheduler(time, takePause);
    const random = new Random(name);
    const network: Network = {
      carry,
      // The next try is a pending request; the explorer chooses when it is executed.
      pause: async () => {},
      random: () => random.fraction(),
    };
    const settings = {
      ...simulatedClients(database, network),
      tables: TABLES,
      namespace: NAMESPACE,
      clock: { now: () => time.now + this.aheadMs },
      random,
      scheduler: this.#scheduler,
      compression: synchronousCompression,
      rootKey: 'none',
      leaseMs: LEASE_MS.deployed,
      receiveWaitMsMax: 60_000,
      reportFault,
    };
    this.dependencies = composeDependencies(settings, MANY_AT_ONCE);
    this.sweep = sweepOf(this.dependencies);
  }

  get broker(): Broker {
    return this.dependencies.broker;
  }

  get management(): Management {
    this.#management ??= composeManagement(this.dependencies);
    return this.#management;
  }

  get isOver(): boolean {
    return this.#scheduler.isOver;
  }

  /** Sets the monotonic clock back by `ms`, as if it had been stopped for that time. */
  standStill(ms: number): void {
    this.#scheduler.behindMs += ms;
  }

  /** Ends the process: no timer or request of it continues. */
  end(): void {
    this.#scheduler.isOver = true;
  }
}

/** Executes a request at once, without faults. */
export const directly: Network['carry'] = async (_, arrive) => {
  const arrived = arrive();
  return 'answer' in arrived ? arrived.answer : arrived.finish();
};
