import { FINISH_MS_MAX } from '../../lambdas/http/lambda.ts';
import {
  type ComposedDependencies,
  composeDependencies,
} from '../../shared/app/compose-dependencies.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';
import type { TableNames } from '../../shared/storage/schema/tables.ts';
import { synchronousCompression } from '../../test/simulation/engine/compression.ts';
import { Machine } from '../../test/simulation/engine/machine.ts';
import type { Random } from '../../test/simulation/engine/random.ts';
import type { Timeline } from '../../test/simulation/engine/timeline.ts';
import { simulatedClients } from '../../test/simulation/tables/client.ts';
import type { SimulatedDatabase } from '../../test/simulation/tables/database.ts';
import type { Measures } from './measures.ts';
import { MeteredNetwork, type TableUnits } from './metered-network.ts';

export const TABLES: TableNames = { entities: 'entities', messages: 'messages' };
export const NAMESPACE = 'scale';
/** The default of `receiveWaitMsMax` in `cdk/settings.ts`. */
export const RECEIVE_WAIT_MS = 2000;

/** What a client hears of a call: an answer, or that it should try again. */
export type Heard<Value> = { readonly value: Value } | { readonly isBusy: true };

/** What all processes of a deployment share. */
export interface Surroundings {
  readonly timeline: Timeline;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly tableUnits: TableUnits;
  readonly measures: Measures;
}

/**
 * One execution environment of a function: a composition with a memory of its own. It serves one call at
 * a time and is frozen in between.
 */
export class Instance {
  readonly #machine: Machine;
  readonly #parts: ComposedDependencies;
  readonly #timeline: Timeline;

  constructor(name: string, surroundings: Surroundings) {
    const { timeline, random } = surroundings;
    const own = random.fork(name);
    this.#timeline = timeline;
    this.#machine = new Machine(timeline, { aheadMs: 0, standsStill: false });
    this.#parts = composeDependencies(settingsOf(surroundings, this.#machine, own));
  }

  /** Serves a call: computes for so long, then does the work, and what is left to do behind the answer. */
  serve<Value>(computeMs: number, work: (broker: Broker) => Promise<Value>): Promise<Heard<Value>> {
    const machine = this.#machine;
    machine.thaw();
    return new Promise((resolve, reject) => {
      const run = async () => {
        await pause(machine, computeMs);
        const heard = await hearing(work(this.#parts.broker));
        await Promise.race([this.#parts.background.settled(), this.#timeline.pause(FINISH_MS_MAX)]);
        machine.freeze();
        resolve(heard);
      };
      machine.soon(() => void run().catch(reject));
    });
  }
}

/** What a process is composed of, over the simulated tables and a machine. */
export function settingsOf(surroundings: Surroundings, machine: Machine, random: Random) {
  const { timeline, database, tableUnits, measures } = surroundings;
  const network = new MeteredNetwork({
    ...{ timeline, machine, tableUnits, measures },
    random: random.fork('network'),
  });
  return {
    ...simulatedClients(database, network),
    tables: TABLES,
    namespace: NAMESPACE,
    clock: machine.clock,
    random: random.fork('own'),
    scheduler: inWholeMs(machine),
    compression: synchronousCompression,
    rootKey: 'none',
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: RECEIVE_WAIT_MS,
    answerBytesMax: LIMITS.answerBytes,
    // What fails behind an answer is left to the sweep; here it is a throttle, which is counted.
    reportFault: () => {},
  };
}

/** Virtual time passes by whole milliseconds: a timer for a fraction of one would be due and not due. */
function inWholeMs(scheduler: Scheduler): Scheduler {
  return {
    now: () => scheduler.now(),
    after: (ms, work) => scheduler.after(Math.ceil(ms), work),
    every: (ms, work) => scheduler.every(Math.ceil(ms), work),
    soon: (work) => scheduler.soon(work),
  };
}

async function hearing<Value>(work: Promise<Value>): Promise<Heard<Value>> {
  try {
    return { value: await work };
  } catch (error) {
    if (error instanceof BrokerError && error.retryable) return { isBusy: true };
    throw error;
  }
}
