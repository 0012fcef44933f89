import {
  type ComposedDependencies,
  composeDependencies,
} from '../../../shared/app/compose-dependencies.ts';
import { sweepOf } from '../../../shared/app/compose-sweep.ts';
import { LEASE_MS } from '../../../shared/app/leases.ts';
import type { Broker } from '../../../shared/broker/broker.ts';
import { Management } from '../../../shared/broker/management/management.ts';
import { DynamoRuleStore } from '../../../shared/storage/entities/rule-store.ts';
import type { TableNames } from '../../../shared/storage/schema/tables.ts';
import { compressionAtOnce } from '../engine/compression.ts';
import { Random } from '../engine/random.ts';
import { simulatedClients } from '../tables/client.ts';
import type { SimulatedDatabase } from '../tables/database.ts';
import type { Network } from '../tables/network.ts';
import { ProcessScheduler, type TakePause, type WorldTime } from './time.ts';

export const TABLES: TableNames = { entities: 'entities', messages: 'messages' };
const NAMESPACE = 'worlds';

/** What a process is started with. */
export interface ProcessSettings {
  readonly name: string;
  readonly time: WorldTime;
  readonly database: SimulatedDatabase;
  /** Carries its requests; random numbers are the process's own. */
  readonly carry: Network['carry'];
  readonly takePause: TakePause;
  /** Is told what fails behind answers. */
  readonly reportFault: (error: unknown) => void;
}

/** A process of a world: a whole composition without its routes, with a memory of its own. */
export class WorldProcess {
  readonly name: string;
  readonly parts: ComposedDependencies;
  readonly sweep: () => Promise<boolean>;
  /** How far its wall clock is ahead of the time of its world, ms. */
  aheadMs = 0;
  readonly #scheduler: ProcessScheduler;
  #management: Management | undefined;

  constructor({ name, time, database, carry, takePause, reportFault }: ProcessSettings) {
    this.name = name;
    this.#scheduler = new ProcessScheduler(time, takePause);
    const random = new Random(name);
    const network: Network = {
      carry,
      // The next try is a request like any other: when it comes is a matter of choice.
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
      compression: compressionAtOnce,
      rootKey: 'none',
      leaseMs: LEASE_MS.deployed,
      receiveWaitMsMax: 60_000,
      reportFault,
    };
    this.parts = composeDependencies(settings);
    this.sweep = sweepOf(this.parts);
  }

  get broker(): Broker {
    return this.parts.broker;
  }

  get management(): Management {
    const { clock, random, documents, namespace, store, counts, beginForwarding } = this.parts;
    this.#management ??= new Management({
      entities: store,
      rules: new DynamoRuleStore(documents, namespace, store),
      counts,
      clock,
      random,
      namespace: { name: namespace, tier: 'Standard' },
      beginForwarding,
    });
    return this.#management;
  }

  get isOver(): boolean {
    return this.#scheduler.isOver;
  }

  /** Sets its monotonic clock back, as if it had stood still so long. */
  standStill(ms: number): void {
    this.#scheduler.behindMs += ms;
  }

  /** Ends the process: nothing that waits in it ever goes on. */
  end(): void {
    this.#scheduler.isOver = true;
  }
}

/** Carries a request at once, and loses nothing. */
export const directly: Network['carry'] = async (_, arrive) => {
  const arrived = arrive();
  return 'answer' in arrived ? arrived.answer : arrived.finish();
};
