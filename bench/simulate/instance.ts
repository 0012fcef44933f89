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
import { synchronousCompression } from '../../test/simulation/machines/compression.ts';
import { Machine } from '../../test/simulation/machines/machine.ts';
import type { Random } from '../../test/simulation/machines/random.ts';
import type { Timeline } from '../../test/simulation/machines/timeline.ts';
import { simulatedClients } from '../../test/simulation/tables/client.ts';
import type { SimulatedDatabase } from '../../test/simulation/tables/database.ts';
import type { Measures } from './measures.ts';
import { MeteredNetwork, type TableUnits } from './metered-network.ts';

export const TABLES: TableNames = { entities: 'entities', messages: 'messages' };
export const NAMESPACE = 'scale';
/** The default of `receiveWaitMsMax` in `cdk/settings.ts`. */
export const RECEIVE_WAIT_MS = 10_000;

/** The result of a call: an answer, or that the client should try again. */
export type CallResult<Value> = { readonly value: Value } | { readonly isBusy: true };

/** What all processes of a deployment share. */
export interface DeploymentParts {
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

  constructor(name: string, parts: DeploymentParts) {
    const { timeline, random } = parts;
    const own = random.fork(name);
    this.#timeline = timeline;
    this.#machine = new Machine(timeline, { aheadMs: 0, standsStill: false });
    this.#parts = composeDependencies(settingsOf(parts, this.#machine, own));
  }

  /** Serves a call: computes for `computeMs`, then does the work, including what is left after the answer. */
  serve<Value>(
    computeMs: number,
    work: (broker: Broker) => Promise<Value>,
  ): Promise<CallResult<Value>> {
    const machine = this.#machine;
    machine.thaw();
    return new Promise((resolve, reject) => {
      const run = async () => {
        await pause(machine, computeMs);
        const result = await asCallResult(work(this.#parts.broker));
        await Promise.race([this.#parts.background.settled(), this.#timeline.pause(FINISH_MS_MAX)]);
        machine.freeze();
        resolve(result);
      };
      machine.soon(() => void run().catch(reject));
    });
  }
}

/** The settings of a process over the simulated tables. */
export function settingsOf(parts: DeploymentParts, machine: Machine, random: Random) {
  const { timeline, database, tableUnits, measures } = parts;
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
    // Work that fails after an answer is left to the sweep. Here it fails by throttling only, which is counted.
    reportFault: () => {},
  };
}

/** Virtual time passes in whole milliseconds, so timers are rounded. */
function inWholeMs(scheduler: Scheduler): Scheduler {
  return {
    now: () => scheduler.now(),
    after: (ms, work) => scheduler.after(Math.ceil(ms), work),
    every: (ms, work) => scheduler.every(Math.ceil(ms), work),
    soon: (work) => scheduler.soon(work),
  };
}

async function asCallResult<Value>(work: Promise<Value>): Promise<CallResult<Value>> {
  try {
    return { value: await work };
  } catch (error) {
    if (error instanceof BrokerError && error.retryable) return { isBusy: true };
    throw error;
  }
}
