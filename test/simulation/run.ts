import { checkRun } from './checks/check.ts';
import { type Violation, violation } from './checks/violation.ts';
import { checkLeftOver } from './checks/walk.ts';
import { Client } from './clients/client.ts';
import { Noticeboard } from './clients/pool.ts';
import type { OperationRecord } from './clients/record.ts';
import { createEntity } from './clients/wire.ts';
import { Drain } from './drain.ts';
import { LATE_MS_MAX, type RequestFate } from './engine/network.ts';
import type { SimulatedProcess } from './engine/process.ts';
import { type Trace, World } from './engine/world.ts';
import type { Scenario, Step } from './scenario/scenario.ts';

/** What came of a scenario. */
export interface Run {
  readonly violations: readonly Violation[];
  readonly records: readonly OperationRecord[];
  /** How many requests went wrong, by how. */
  readonly fates: ReadonlyMap<RequestFate, number>;
  /** How many things happened. */
  readonly events: number;
}

/** Everything that was under way has ended by then, ms: late requests, locks, schedules, pauses. */
const CALM_MS = LATE_MS_MAX + 60_000;
/** No operation takes longer than this, ms: the longest freeze, wait and retries together. */
const OPERATION_MS_MAX = 15 * 60_000;

/** Where traces say what concerns all processes, */
export const EVERYWHERE = '';
/** and that from here on only what is left is received and swept. */
export const ALL_STOPPED = '** all clients have stopped';

/** Runs a scenario to its end, and checks every promise. */
export async function runScenario(scenario: Scenario, trace?: Trace): Promise<Run> {
  const world = new World(scenario, trace);
  const records: OperationRecord[] = [];
  const finish = (violations: readonly Violation[]): Run => ({
    violations,
    records,
    fates: world.fates,
    events: world.timeline.count,
  });
  await until(world, create(world));
  const isOver = await until(world, play(world, records), scenario.steps.length * OPERATION_MS_MAX);
  if (!isOver) return finish([violation('stuck', 'Some operations never ended.')]);
  world.stopFaults();
  world.trace?.(EVERYWHERE, ALL_STOPPED);
  await until(world, world.timeline.pause(CALM_MS));
  const newcomer = world.newcomer();
  const drain = new Drain(world, newcomer);
  const isDrained = await until(world, drain.run(), DAY);
  if (!isDrained) return finish([violation('stuck', 'What was left could not be received.')]);
  // What a sender was not told of may need the sweep to be found.
  drain.isLate = true;
  const isCleared = await until(world, clear(world, newcomer, drain), 30 * DAY);
  if (!isCleared) return finish([violation('stuck', 'A sweep never ended.')]);
  const violations = [...drain.violations, ...checkRun(scenario, records, drain.found)];
  return finish(violations.length > 0 ? violations : checkLeftOver(world));
}

/** Lets things happen until work is done. False = it never is. */
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
    const heard = await world.firstProcess().call(async ({ management }) => {
      await createEntity(management, entity);
    });
    if (heard.kind !== 'done')
      throw new Error(`An entity could not be created: ${JSON.stringify(heard)}`);
  }
}

/** Has all clients do what the scenario says. */
async function play(world: World, records: OperationRecord[]): Promise<void> {
  const steps = new Map<string, Step[]>();
  for (const step of world.scenario.steps) {
    steps.set(step.client, [...(steps.get(step.client) ?? []), step]);
  }
  let last = 0;
  const board = new Noticeboard();
  const random = world.random.fork('clients');
  const start = world.timeline.now;
  world.startFaults();
  const clients = Array.from(steps, ([name, own]) => {
    const client = new Client(name, {
      world,
      board,
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
 * When the sweep runs once everybody has gone, ms after the last time: often enough for all that it does in
 * steps, before what is left is received for the last time, and after it.
 */
const SWEEPS = { before: [MINUTE, DAY, DAY], after: [11 * MINUTE, DAY, DAY, 8 * DAY] };

/** Has the sweep bring the tables to a clean state; the service deletes what is out of date. */
async function clear(world: World, process: SimulatedProcess, drain: Drain): Promise<void> {
  const sweepAfter = async (ms: number) => {
    await world.timeline.pause(ms);
    for (const item of world.database.expirable()) world.database.expire(item);
    const heard = await process.call((composition) => composition.sweep());
    if (heard.kind !== 'done') throw new Error(`The sweep failed: ${JSON.stringify(heard)}`);
  };
  for (const ms of SWEEPS.before) await sweepAfter(ms);
  await drain.run();
  for (const ms of SWEEPS.after) await sweepAfter(ms);
}
