import {
  type EntitySpec,
  entityOf,
  type ReceivableSpec,
  type Scenario,
} from '../scenario/scenario.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import { NO_FAULTS, type RequestFate } from './network.ts';
import { type ProcessSpec, SimulatedProcess } from './process.ts';
import { Random } from './random.ts';
import { START, Timeline } from './timeline.ts';

/** Says what happens, when and where, for histories that somebody reads. */
export type Trace = (where: string, line: string, at: number) => void;

/** The tables and the processes of one run. */
export class World {
  readonly timeline: Timeline;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly trace: ((where: string, line: string) => void) | undefined;
  /** How many requests went wrong, by how. */
  readonly fates = new Map<RequestFate, number>();
  readonly #scenario: Scenario;
  readonly #processes = new Map<string, SimulatedProcess>();
  #areFaultsOn = false;

  constructor(scenario: Scenario, trace?: Trace) {
    this.#scenario = scenario;
    this.trace = trace && ((where, line) => trace(where, line, this.timeline.now));
    this.random = new Random(scenario.seed);
    // Failures that are handled a little later end real processes: now and then, each event is watched.
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

  /** A process that can take a call: the one named; where that is a function at work, another one. */
  process(name: string): SimulatedProcess {
    const named = this.#processes.get(name);
    if (named === undefined) throw new Error(`There is no process ${name}.`);
    if (!named.isBusy) return named;
    for (const other of this.#processes.values()) {
      if (other.spec.kind === 'function' && !other.isBusy) return other;
    }
    // More functions are started where all are busy.
    return this.#add({ ...named.spec, name: `p${this.#processes.size}` });
  }

  /** One of the processes that are there from the beginning. */
  firstProcess(): SimulatedProcess {
    const [first] = this.#scenario.processes;
    return this.process(first?.name ?? '');
  }

  /** A process that is new to everything, with the right time. */
  newcomer(): SimulatedProcess {
    const { tier, leaseMs } = this.firstProcess().spec;
    const name = `p${this.#processes.size}`;
    return this.#add({ name, kind: 'server', aheadMs: 0, standsStill: false, leaseMs, tier });
  }

  /** How long the scenario takes at least, ms. */
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

  /** From here on nothing goes wrong any more. */
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

  /** Whether its main queue hands messages out by session. */
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

  /** True ms since the beginning, for people. */
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
      count: (fate) => this.fates.set(fate, (this.fates.get(fate) ?? 0) + 1),
      trace,
    });
    this.#processes.set(spec.name, process);
    return process;
  }
}
