import { checkRun } from './checks/check.ts';
import { checkLeftOver } from './checks/leftovers.ts';
import { type Violation, violation } from './checks/violation.ts';
import { Client } from './clients/client.ts';
import { NumberRegistry } from './clients/client-state.ts';
import type { OperationRecord } from './clients/record.ts';
import { createEntity } from './clients/wire.ts';
import { Drain } from './drain.ts';
import { LATE_MS_MAX, type RequestFault } from './machines/network.ts';
import type { SimulatedProcess } from './machines/process.ts';
import { type Trace, World } from './machines/world.ts';
import type { Scenario, Step } from './scenario/scenario.ts';

/** The result of a scenario. */
export interface Run {
  readonly violations: readonly Violation[];
  readonly records: readonly OperationRecord[];
  /** How many requests had each fault. */
  readonly requestFaults: ReadonlyMap<RequestFault, number>;
  /** How many events ran. */
  readonly events: number;
}

/** After this time without clients, all late requests, locks, schedules and pauses have ended, ms. */
const CALM_MS = LATE_MS_MAX + 60_000;
/** The longest operation, ms: the longest freeze, wait and retries together. */
const OPERATION_MS_MAX = 15 * 60_000;

/** The place of trace lines that concern all processes. */
export const EVERYWHERE = '';
/** The trace line after which the run only drains and sweeps. */
export const ALL_STOPPED = '** all clients have stopped';

/** Runs a scenario to its end and checks every promise. */
export async function runScenario(scenario: Scenario, trace?: Trace): Promise<Run> {
  const world = new World(scenario, trace);
  const records: OperationRecord[] = [];
  const finish = (violations: readonly Violation[]): Run => ({
    violations: [...unsupported(world), ...violations],
    records,
    requestFaults: world.requestFaults,
    events: world.timeline.count,
  });
  await until(world, create(world));
  const isOver = await until(world, play(world, records), scenario.steps.length * OPERATION_MS_MAX);
  if (!isOver) return finish([violation('stuck', 'Some operations never ended.')]);
  world.stopFaults();
  world.trace?.(EVERYWHERE, ALL_STOPPED);
  await until(world, world.timeline.pause(CALM_MS));
  const freshProcess = world.freshProcess();
  const drain = new Drain(world, freshProcess);
  const isDrained = await until(world, drain.run(), DAY);
  if (!isDrained) return finish([violation('stuck', 'The final drain never ended.')]);
  // Messages of a send with an unknown outcome may become available only after a sweep.
  drain.isLate = true;
  const isCleared = await until(world, clear(world, freshProcess, drain), 30 * DAY);
  if (!isCleared) return finish([violation('stuck', 'A sweep never ended.')]);
  const violations = [...drain.violations, ...checkRun(scenario, records, drain.found)];
  return finish(violations.length > 0 ? violations : checkLeftOver(world));
}

function unsupported({ database: { unsupported } }: World): readonly Violation[] {
  return unsupported === undefined ? [] : [violation('answer', unsupported.message)];
}

/** Runs events until work is done. Returns false if it takes longer than the limit. */
async function until(
  world: World,
  work: Promise<unknown>,
  ms = OPERATION_MS_MAX,
): Promise<boolean> {
  let isDone = false;
  let failure: unknown;
  work.then(
    () => {
      isDone = true;
    },
    (error: unknown) => {
      failure = error;
      isDone = true;
    },
  );
  const limit = world.timeline.now + world.longestMs + ms;
  const isOver = await world.timeline.runUntil(() => isDone || world.timeline.now > limit);
  if (failure !== undefined) throw failure;
  return isOver && isDone;
}

async function create(world: World): Promise<void> {
  for (const entity of world.scenario.entities) {
    const result = await world.firstProcess().call(async ({ management }) => {
      await createEntity(management, entity);
    });
    if (result.kind !== 'done')
      throw new Error(`An entity could not be created: ${JSON.stringify(result)}`);
  }
}

/** Runs the steps of all clients. */
async function play(world: World, records: OperationRecord[]): Promise<void> {
  const steps = new Map<string, Step[]>();
  for (const step of world.scenario.steps) {
    steps.set(step.client, [...(steps.get(step.client) ?? []), step]);
  }
  let last = 0;
  const registry = new NumberRegistry();
  const random = world.random.fork('clients');
  const start = world.timeline.now;
  world.startFaults();
  const clients = Array.from(steps, ([name, own]) => {
    const client = new Client(name, {
      world,
      registry,
      random: random.fork(name),
      number: () => ++last,
      record: (record) => records.push(record),
    });
    return client.run(own, start);
  });
  await Promise.all(clients);
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/**
 * The pauses before the final sweeps, ms: often enough for all that the sweep does in steps, before the last
 * drain and after it.
 */
const SWEEPS = { before: [MINUTE, DAY, DAY], after: [11 * MINUTE, DAY, DAY, 8 * DAY] };

/** Runs the final sweeps and the last drain, and deletes items whose time to live is over. */
async function clear(world: World, process: SimulatedProcess, drain: Drain): Promise<void> {
  const sweepAfter = async (ms: number) => {
    await world.timeline.pause(ms);
    for (const item of world.database.expirable()) world.database.expire(item);
    const result = await process.call((composition) => composition.sweep());
    if (result.kind !== 'done') throw new Error(`The sweep failed: ${JSON.stringify(result)}`);
  };
  for (const ms of SWEEPS.before) await sweepAfter(ms);
  await drain.run();
  for (const ms of SWEEPS.after) await sweepAfter(ms);
}
