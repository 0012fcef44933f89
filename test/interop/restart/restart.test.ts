import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ENGINE_KINDS, type EngineKind, findRecipe } from '../../../local/engine/engine-recipes.ts';
import { LoadRandom, seedOfRun } from '../../support/load-random.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { RestartHolder } from './restart-holder.ts';
import { LOCK_MS, RestartLedger } from './restart-ledger.ts';
import { ENDINGS, type Ending, RestartServer } from './restart-server.ts';
import { connect, keyOf, type Task, Workers } from './restart-workers.ts';
import { unrefMinuteTimers } from './unref-minute-timers.ts';

/**
 * The server of `npm start` ends while the vendor's clients are connected, and starts again. The clients
 * recover by themselves, and everything that the server acknowledged stays true.
 */

const SEED = seedOfRun();
const { DYNABUS_ENGINE: ENGINE, DYNABUS_RESTART_CLIENTS } = process.env;
/** A usual run has few clients and one server. A search ends the server of each engine in every way. */
const IS_SEARCH = DYNABUS_RESTART_CLIENTS !== undefined;
const USUAL: readonly Ending[] = ['kill -9', 'SIGTERM'];
const CLIENTS = Number(DYNABUS_RESTART_CLIENTS ?? 24);
/** The number of messages to send before each end. */
const MESSAGES = 2 * CLIENTS;
/** How long a client waits for an answer, possibly lost with its connection, before it retries. */
const TRY_MS = IS_SEARCH ? 5000 : 3000;
const WORK_MS_MAX = 90_000;
/** How long before the first end of a lock the checks start: longer than they take. */
const EARLY_MS = 30_000;
/** After this time without progress, only locked messages are left. */
const STANDSTILL_MS = 4000;
const POLL_MS = 250;

/** The tasks of two hundred clients. With fewer clients, each task has at least one. */
const TASKS: readonly (readonly [count: number, task: Task])[] = [
  [15, { role: 'send', entity: 'plain' }],
  [15, { role: 'send', entity: 'detecting' }],
  [10, { role: 'send', entity: 'news' }],
  [10, { role: 'send', entity: 'in-sessions' }],
  [10, { role: 'send', entity: 'taken' }],
  [25, { role: 'pull', entity: 'plain' }],
  [25, { role: 'pull', entity: 'detecting' }],
  [20, { role: 'subscribe', entity: 'plain' }],
  [20, { role: 'subscribe', entity: 'detecting' }],
  [10, { role: 'subscribe', entity: 'news', subscription: 'one' }],
  [10, { role: 'pull', entity: 'news', subscription: 'two' }],
  [20, { role: 'session', entity: 'in-sessions' }],
  [10, { role: 'receiveAndDelete', entity: 'taken' }],
];

const PATHS = [
  'plain',
  'detecting',
  'in-sessions',
  'taken',
  'news/subscriptions/one',
  'news/subscriptions/two',
];

const chosen = ENGINE_KINDS.filter((kind) => (ENGINE || kind) === kind);
const missing = (kind: EngineKind) => {
  const found = findRecipe[kind]();
  return 'missing' in found ? found.missing : false;
};
// A usual run uses the last engine, which starts fastest.
for (const engine of IS_SEARCH ? chosen : chosen.filter((kind) => !missing(kind)).slice(-1)) {
  for (const endings of IS_SEARCH ? ENDINGS.map((how) => [how, how]) : [USUAL]) {
    const title = `${endings.join(', then ')} under ${CLIENTS} clients: ${engine} (seed ${SEED})`;
    test(title, { skip: missing(engine) }, (t) => survive(t, engine, endings));
  }
}

async function survive(t: TestContext, engine: string, endings: readonly Ending[]) {
  unrefMinuteTimers(t);
  const random = new LoadRandom(`${SEED}:${engine}:${endings}`);
  const server = await RestartServer.start(t, engine);
  const { connectionString } = server;
  const ledger = new RestartLedger();
  server.onMove = (ms) => ledger.moved(ms);
  const holders = await createEntities(connectionString, endings);
  const workers = new Workers({ connectionString, ledger, random, tryMs: TRY_MS }, workerTasks());
  t.after(() => Promise.all([workers, ...holders].map((clients) => clients.close())));

  await workers.untilAllWorked(WORK_MS_MAX);
  for (const [number, how] of endings.entries()) {
    await holders[number]?.hold();
    await workers.untilSent(ledger.sentCount + MESSAGES, WORK_MS_MAX);
    await delay(random.below(25));
    await server.end(how);
    workers.serverEnded();
    await server.start();
    const startedAt = performance.now();
    await workers.untilAllWorked(WORK_MS_MAX);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    t.diagnostic(`${how}: all clients work again ${seconds} s after the start`);
    await holders[number]?.checkAfterRestart();
  }
  workers.isSending = false;
  workers.letsLocksExpire = false;
  await checkEnds(server, holders);
  await drain(server);
  await workers.close();
  t.diagnostic(`${ledger.sentCount} sent, ${ledger.completedCount} completed`);
  t.diagnostic(`clients heard ${JSON.stringify(Object.fromEntries(workers.errors))}`);
  checkLedger(ledger);
}

function workerTasks(): readonly Task[] {
  return TASKS.flatMap(([count, task]) => {
    const length = Math.max(1, Math.round((count * CLIENTS) / 200));
    return Array.from({ length }, () => task);
  });
}

/** Checks that locks end at their time and not before. */
async function checkEnds(server: RestartServer, holders: readonly RestartHolder[]): Promise<void> {
  const ends = holders.flatMap((holder) => holder.ends);
  await server.setClock(Math.min(...ends) - EARLY_MS);
  for (const holder of holders) await holder.checkLocked();
  await server.setClock(Math.max(...ends));
  for (const holder of holders) await holder.checkFreed();
}

async function createEntities(
  connectionString: string,
  endings: readonly Ending[],
): Promise<readonly RestartHolder[]> {
  const admin = administrationOf(connectionString);
  const options = { lockDuration: `PT${LOCK_MS / 1000}S`, maxDeliveryCount: 1000 };
  const sessions = { ...options, requiresSession: true };
  await admin.createQueue('plain', options);
  await admin.createQueue('detecting', { ...options, requiresDuplicateDetection: true });
  await admin.createQueue('in-sessions', sessions);
  await admin.createQueue('taken', options);
  await admin.createTopic('news');
  await admin.createSubscription('news', 'one', options);
  await admin.createSubscription('news', 'two', options);
  const holders: RestartHolder[] = [];
  for (const [number, how] of endings.entries()) {
    const entities = { queue: `held-${number}`, sessionQueue: `held-sessions-${number}` };
    await admin.createQueue(entities.queue, options);
    await admin.createQueue(entities.sessionQueue, sessions);
    holders.push(new RestartHolder(() => connect(connectionString, TRY_MS), entities, how));
  }
  return holders;
}

/**
 * Waits until the receivers have emptied all entities. Messages that were lost in transit when a server ended
 * are delivered again when their locks have expired.
 */
async function drain(server: RestartServer): Promise<void> {
  const deadline = performance.now() + WORK_MS_MAX;
  let left = Number.POSITIVE_INFINITY;
  let changedAt = Number.NEGATIVE_INFINITY;
  while (left > 0) {
    // Only without progress, because a move of the clock also expires the locks of working clients.
    if (performance.now() - changedAt > STANDSTILL_MS) {
      await server.setClock((await server.now()) + LOCK_MS);
      changedAt = performance.now();
    }
    assert.ok(performance.now() < deadline, `${left} messages are left`);
    await delay(POLL_MS);
    const before = left;
    left = await countLeft(server);
    if (left !== before) changedAt = performance.now();
  }
}

async function countLeft(server: RestartServer): Promise<number> {
  const counts = await Promise.all(PATHS.map((path) => server.count(path)));
  return counts.reduce((sum, count) => sum + count, 0);
}

function checkLedger(ledger: RestartLedger): void {
  assert.deepEqual(ledger.violations, []);
  assert.deepEqual(ledger.unfinished, [], 'removed without having been completed');
  for (const [, task] of TASKS) {
    // A message in receive-and-delete mode may be lost in transit.
    if (task.role === 'send' || task.role === 'receiveAndDelete') continue;
    assert.deepEqual(
      ledger.unseen(keyOf(task), `${task.entity}:`),
      [],
      'lost although acknowledged',
    );
  }
  assert.deepEqual(ledger.duplicates('detecting'), []);
}
