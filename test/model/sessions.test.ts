import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { isMore } from '../runner/more.ts';
import { seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { checkSessionsAfterwards } from './support/session-aftermath.ts';
import { sessionSteps } from './support/session-arbitraries.ts';
import { SessionClients, type SessionStep } from './support/session-clients.ts';
import { HOLDERS, SESSIONS, SessionModel } from './support/session-model.ts';

/**
 * Receivers accept and release sessions through two processes, compared with a small model: the order in
 * a session is strict, no two receivers hold it at once, delivery counts are exact, and its state is kept.
 * `DYNABUS_SEED`, `DYNABUS_MODEL_PATH` and `DYNABUS_MODEL_REPLAY` repeat a run or a failure, as in
 * lifecycle.test.ts; `DYNABUS_SESSION_RUNS` sets the number of histories.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_SESSION_RUNS'] || (isMore() ? 15 : 6));
const PATH = process.env['DYNABUS_MODEL_PATH'];
const REPLAY = process.env['DYNABUS_MODEL_REPLAY'];
/** Each shard has its own namespace and clock. */
const SHARDS = 3;
const STEPS_MAX = 60;

test(`${HOLDERS} receivers of ${SESSIONS} sessions observe what the model predicts, in ${RUNS} histories (seed ${SEED})`, {
  concurrency: true,
}, async (t) => {
  const shards = Array.from({ length: SHARDS }, (_, shard) =>
    t.test(`shard ${shard} of seed ${SEED}`, (shardTest) => searchForFault(shardTest, shard)),
  );
  await Promise.all(shards);
});

async function searchForFault(t: TestContext, shard: number): Promise<void> {
  const first = await startBroker(t);
  const brokers = [first, await startBroker(t, { beside: first })];
  const commands = fc.commands(sessionSteps, {
    maxCommands: STEPS_MAX,
    size: 'max',
    ...(REPLAY === undefined ? {} : { replayPath: REPLAY }),
  });
  let queues = 0;
  const maxDeliveryCounts = fc.constantFrom(1, 2, 4, 1000);
  const property = fc.asyncProperty(maxDeliveryCounts, commands, (maxDeliveryCount, steps) =>
    runHistory(brokers, `q${queues++}`, maxDeliveryCount, steps),
  );
  await fc.assert(property, {
    seed: (Number.parseInt(SEED, 16) | 0) + shard,
    numRuns: Math.ceil(RUNS / SHARDS),
    includeErrorInReport: true,
    ...(PATH === undefined ? {} : { path: PATH }),
  });
}

/** Runs one history on a new queue, then empties the queue and compares. */
async function runHistory(
  brokers: readonly TestBroker[],
  queue: string,
  maxDeliveryCount: number,
  steps: Iterable<SessionStep>,
): Promise<void> {
  const clients = new SessionClients(brokers, queue);
  const model = new SessionModel(maxDeliveryCount, clients.at(0).clock.now());
  try {
    const settings = clients.settings(maxDeliveryCount);
    expectStatus(await clients.at(0).createQueue(queue, settings), 201);
    await fc.asyncModelRun(() => ({ model, real: clients }), steps);
    await checkSessionsAfterwards(model, clients);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const history = [`${maxDeliveryCount} deliveries`, ...model.history].join('\n  ');
    throw new Error(`${fault}\n  after\n  ${history}`, { cause: error });
  }
}
