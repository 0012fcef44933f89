import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { type NetworkFaults, NO_FAULTS } from '../machines/network.ts';
import { SimulatedProcess } from '../machines/process.ts';
import { Random } from '../machines/random.ts';
import { Timeline } from '../machines/timeline.ts';
import { SimulatedDatabase } from '../tables/database.ts';

/** Transactions of two processes that send the same message to the same two queues, which detect duplicates. */

const QUEUES = ['orders', 'audit'];
const TRANSACTIONS = 8;
/** With the last one, transactions of which each goes first in another queue give each other up until the end. */
const SEEDS = [0, 1, 2, 3, 17];
/** The database answers after up to 400 ms, as one under load does. */
const SLOW: NetworkFaults = { ...NO_FAULTS, slow: 1, slowMs: 200 };
const PROCESS = {
  kind: 'server',
  aheadMs: 0,
  standsStill: false,
  leaseMs: 2000,
  tier: 'Standard',
} as const;

/** What the transactions of one run found. */
interface Found {
  /** An answer for each transaction: `done`, or the message of its error. */
  readonly answers: readonly string[];
  /** The message ids in each queue at the end. */
  readonly ids: readonly (readonly unknown[])[];
}

/** Runs the transactions at the same time; `orderOf` = the queues in the order in which one sends to them. */
async function compete(
  seed: string,
  orderOf: (index: number) => readonly string[],
): Promise<Found> {
  const timeline = new Timeline();
  const random = new Random(seed);
  const ofDatabase = random.fork('database');
  const database = new SimulatedDatabase({
    now: () => timeline.now,
    random: () => ofDatabase.fraction(),
    staleMsMax: 0,
    unprocessedChance: 0,
  });
  const processes = ['p0', 'p1'].map(
    (name) =>
      new SimulatedProcess(
        { ...PROCESS, name },
        { timeline, database, random, faults: () => SLOW, count: () => {} },
      ),
  );
  const [first] = processes;
  assert.ok(first);
  const run = async (): Promise<Found> => {
    for (const queue of QUEUES) await create(first, queue);
    const answers = await Promise.all(
      Array.from({ length: TRANSACTIONS }, (_, index) =>
        transact(processes[index % 2] ?? first, orderOf(index), index),
      ),
    );
    return { answers, ids: await Promise.all(QUEUES.map((queue) => idsIn(first, queue))) };
  };
  let isOver = false;
  const found = run().finally(() => {
    isOver = true;
  });
  assert.ok(await timeline.runUntil(() => isOver), 'the run is stuck');
  return await found;
}

async function create(process: SimulatedProcess, queue: string): Promise<void> {
  const settings = { ...QUEUE_DEFAULTS, requiresDuplicateDetection: true };
  const created = await process.call(({ management }) => management.create(queue, settings));
  assert.equal(created.kind, 'done');
}

/** Sends `same` and a message of its own to each queue. */
async function transact(
  process: SimulatedProcess,
  queues: readonly string[],
  index: number,
): Promise<string> {
  const messages = ['same', `own ${index}`].map((messageId) => ({
    messageId,
    body: Buffer.from(messageId),
    properties: {},
  }));
  const operations = queues.map((queue) => ({
    kind: 'send' as const,
    path: parseEntityPath(queue),
    messages,
  }));
  const result = await process.call(({ dependencies }) =>
    dependencies.broker.transact({ operations }),
  );
  return result.kind === 'refused' ? result.error.message : result.kind;
}

async function idsIn(process: SimulatedProcess, queue: string): Promise<readonly unknown[]> {
  const found = await process.call(({ dependencies }) =>
    dependencies.broker.peek(parseEntityPath(queue), { maxMessages: 100 }),
  );
  assert.ok(found.kind === 'done');
  return found.value.map(({ message }) => message.messageId).sort();
}

const EACH_ONCE = ['same', ...Array.from({ length: TRANSACTIONS }, (_, i) => `own ${i}`)].sort();

for (const [way, orderOf] of Object.entries({
  'in the same order': () => QUEUES,
  'in opposite orders': (index: number) => (index % 2 === 0 ? QUEUES : QUEUES.toReversed()),
})) {
  test(`competing transactions that send one message to two queues ${way} are all done on a slow database`, async () => {
    for (const seed of SEEDS) {
      const { answers, ids } = await compete(`transactions ${seed}`, orderOf);
      const done = answers.map(() => 'done');
      assert.deepEqual(answers, done, `seed ${seed}`);
      assert.deepEqual(ids, [EACH_ONCE, EACH_ONCE], `seed ${seed}`);
    }
  });
}
