import {
  type EntitySpec,
  entityOf,
  type ReceivableSpec,
  type Scenario,
} from '../scenario/scenario.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import { NO_FAULTS, type RequestFault } from './network.ts';
import { type ProcessSpec, SimulatedProcess } from './process.ts';
import { Random } from './random.ts';
import { START, Timeline } from './timeline.ts';

/** Receives each line of a readable history: where and when it happened. */
export type Trace = (where: string, line: string, at: number) => void;

/** The tables and processes of one run. */
export class World {
  readonly timeline: Timeline;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly trace: ((where: string, line: string) => void) | undefined;
  /** How many requests had each fault. */
  readonly requestFaults = new Map<RequestFault, number>();
  readonly #scenario: Scenario;
  readonly #processes = new Map<string, SimulatedProcess>();
  #areFaultsOn = false;

  constructor(scenario: Scenario, trace?: Trace) {
    this.#scenario = scenario;
    this.trace = trace && ((where, line) => trace(where, line, this.timeline.now));
    this.random = new Random(scenario.seed);
    // Node exits at a rejection that is handled a turn too late, so some runs have a turn after each event.
    const isWatched = this.random.fork('turns').chance(0.05);
    this.timeline = isWatched ? new Timeline(1) : new Timeline();
    const random = this.random.fork('database');
    this.database = new SimulatedDatabase({
      now: () => this.timeline.now,
      random: () => random.fraction(),
      staleMsMax: scenario.staleMsMax,
      unprocessedChance: scenario.network.throttled,
    });
    for (const spec of scenario.processes) this.#add(spec);
  }

  get scenario(): Scenario {
    return this.#scenario;
  }

  /** A process that can serve a call: the named one, or another function if that one is busy. */
  process(name: string): SimulatedProcess {
    const named = this.#processes.get(name);
    if (named === undefined) throw new Error(`There is no process ${name}.`);
    if (!named.isBusy) return named;
    for (const other of this.#processes.values()) {
      if (other.spec.kind === 'function' && !other.isBusy) return other;
    }
    // All functions are busy, so another one starts.
    return this.#add({ ...named.spec, name: `p${this.#processes.size}` });
  }

  /** The first process of the scenario. */
  firstProcess(): SimulatedProcess {
    const [first] = this.#scenario.processes;
    return this.process(first?.name ?? '');
  }

  /** Starts a new process without memory, whose clock is right. */
  freshProcess(): SimulatedProcess {
    const { tier, leaseMs } = this.firstProcess().spec;
    const name = `p${this.#processes.size}`;
    return this.#add({ name, kind: 'server', aheadMs: 0, standsStill: false, leaseMs, tier });
  }

  /** The start of the scenario's last step, ms. */
  get longestMs(): number {
    return Math.max(0, ...this.#scenario.steps.map(({ at }) => at));
  }

  startFaults(): void {
    this.#areFaultsOn = true;
    for (const fault of this.#scenario.faults) {
      this.timeline.at(this.timeline.now + fault.at, () => {
        if (!this.#areFaultsOn) return;
        this.trace?.(fault.process, `** ${fault.kind}`);
        const process = this.#processes.get(fault.process);
        if (fault.kind === 'crash') process?.crash();
        else if (fault.kind === 'freeze') process?.freeze(fault.ms);
        else process?.setClock(fault.aheadMs);
      });
    }
  }

  /** Ends all faults. */
  stopFaults(): void {
    this.#areFaultsOn = false;
  }

  entity(path: string): EntitySpec | undefined {
    return this.#scenario.entities.find((entity) => entity.path === entityOf(path));
  }

  receivable(path: string): ReceivableSpec | undefined {
    const entity = this.entity(path);
    return entity?.kind === 'topic' ? undefined : entity;
  }

  /** Whether receives from an entity's main queue require a session. */
  requiresSession(path: string): boolean {
    return this.receivable(path)?.requiresSession === true;
  }

  /** Whether another entity forwards to it. */
  isDestination(path: string): boolean {
    return this.#scenario.entities.some(
      (entity) =>
        entity.kind !== 'topic' &&
        (entity.forwardTo === path || entity.forwardDeadLettersTo === path),
    );
  }

  /** The time since the start, ms. */
  elapsed(): number {
    return this.timeline.now - START;
  }

  #add(spec: ProcessSpec): SimulatedProcess {
    const { timeline, database, random, trace } = this;
    const process = new SimulatedProcess(spec, {
      timeline,
      database,
      random: random.fork('processes'),
      faults: () => (this.#areFaultsOn ? this.#scenario.network : NO_FAULTS),
      count: (fault) => this.requestFaults.set(fault, (this.requestFaults.get(fault) ?? 0) + 1),
      trace,
    });
    this.#processes.set(spec.name, process);
    return process;
  }
}
