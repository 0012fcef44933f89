import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ENGINE_KINDS, type EngineKind, findRecipe } from '../../../local/engine/engine-recipes.ts';
import { LoadRandom, seedOfRun } from '../../support/load-random.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { RestartHolder } from './restart-holder.ts';
import { LOCK_MS, RestartBook } from './restart-ledger.ts';
import { ENDINGS, type Ending, RestartServer } from './restart-server.ts';
import { Crew, connect, keyOf, type Task } from './restart-workers.ts';

/**
 * The server of `npm start` ends under connected clients of the vendor, and is started again. They go
 * on by themselves; what they were told stays true.
 */

const SEED = seedOfRun();
const { DYNABUS_ENGINE: ENGINE, DYNABUS_RESTART_CLIENTS } = process.env;
/** A usual run has few clients and one server; a search ends each engine's in every way. */
const IS_SEARCH = DYNABUS_RESTART_CLIENTS !== undefined;
const USUAL: readonly Ending[] = ['kill -9', 'SIGTERM'];
const CLIENTS = Number(DYNABUS_RESTART_CLIENTS ?? 24);
/** What is sent before each end. */
const MESSAGES = 2 * CLIENTS;
/** A client that lost an answer with its connection waits so long before it tries again. */
const TRY_MS = IS_SEARCH ? 5000 : 3000;
const WORK_MS_MAX = 90_000;
/** Before the end of a lock: more than all checks take. */
const EARLY_MS = 30_000;
/** So long without any progress, only what is locked is left. */
const STANDSTILL_MS = 4000;
const POLL_MS = 250;
const MINUTE = 60_000;

/** Who does what, of two hundred; of fewer, one at least. */
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
  [10, { role: 'take', entity: 'taken' }],
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
// A usual run takes the last one, which starts at once.
for (const engine of IS_SEARCH ? chosen : chosen.filter((kind) => !missing(kind)).slice(-1)) {
  for (const course of IS_SEARCH ? ENDINGS.map((how) => [how, how]) : [USUAL]) {
    const title = `${course.join(', then ')} under ${CLIENTS} clients: ${engine} (seed ${SEED})`;
    test(title, { skip: missing(engine) }, (t) => outlive(t, engine, course));
  }
}

async function outlive(t: TestContext, engine: string, course: readonly Ending[]) {
  letWaitsGo(t);
  const random = new LoadRandom(`${SEED}:${engine}:${course}`);
  const server = await RestartServer.start(t, engine);
  const { connectionString } = server;
  const book = new RestartBook();
  const holders = await createEntities(connectionString, course);
  const crew = new Crew({ connectionString, book, random, tryMs: TRY_MS }, crewTasks());
  t.after(() => Promise.all([crew, ...holders].map((clients) => clients.close())));

  await crew.untilAllWorked(WORK_MS_MAX);
  for (const [number, how] of course.entries()) {
    await holders[number]?.hold();
    await crew.untilSent(book.sentCount + MESSAGES, WORK_MS_MAX);
    await delay(random.below(25));
    await server.end(how);
    crew.serverEnded();
    await server.start();
    const startedAt = performance.now();
    await crew.untilAllWorked(WORK_MS_MAX);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    t.diagnostic(`${how}: all work again ${seconds} s after the start`);
    await holders[number]?.checkAfterRestart();
  }
  crew.isSending = false;
  crew.forgets = false;
  await checkEnds(server, holders);
  await drain(server);
  await crew.close();
  t.diagnostic(`${book.sentCount} sent, ${book.completedCount} completed`);
  t.diagnostic(`clients heard ${JSON.stringify(Object.fromEntries(crew.errors))}`);
  checkBook(book);
}

/** A client waits a minute for what was lost with its connection; the process need not. */
function letWaitsGo(t: TestContext): void {
  const start = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number, ...rest: []) => {
    const timer = start(work, ms, ...rest);
    return ms === MINUTE ? timer.unref() : timer;
  });
}

function crewTasks(): readonly Task[] {
  return TASKS.flatMap(([count, task]) => {
    const length = Math.max(1, Math.round((count * CLIENTS) / 200));
    return Array.from({ length }, () => task);
  });
}

/** Locks end at their time, not before. */
async function checkEnds(server: RestartServer, holders: readonly RestartHolder[]): Promise<void> {
  const ends = holders.flatMap((holder) => holder.ends);
  await server.setClock(Math.min(...ends) - EARLY_MS);
  for (const holder of holders) await holder.checkLocked();
  await server.setClock(Math.max(...ends));
  for (const holder of holders) await holder.checkFreed();
}

async function createEntities(
  connectionString: string,
  course: readonly Ending[],
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
  for (const [number, how] of course.entries()) {
    const entities = { queue: `held-${number}`, sessionQueue: `held-sessions-${number}` };
    await admin.createQueue(entities.queue, options);
    await admin.createQueue(entities.sessionQueue, sessions);
    holders.push(new RestartHolder(() => connect(connectionString, TRY_MS), entities, how));
  }
  return holders;
}

/** Lets the receivers take all there is. What was on its way at an end comes when its lock is over. */
async function drain(server: RestartServer): Promise<void> {
  const deadline = performance.now() + WORK_MS_MAX;
  let left = Number.POSITIVE_INFINITY;
  let changedAt = Number.NEGATIVE_INFINITY;
  while (left > 0) {
    // Not while anybody gets on: it ends the locks of those who are at work, too.
    if (performance.now() - changedAt > STANDSTILL_MS) {
      await server.setClock((await server.now()) + LOCK_MS);
      changedAt = performance.now();
    }
    assert.ok(performance.now() < deadline, `${left} messages stay`);
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

function checkBook(book: RestartBook): void {
  assert.deepEqual(book.wrong, []);
  assert.deepEqual(book.unfinished, [], 'gone without having been completed');
  for (const [, task] of TASKS) {
    // What was removed as it was handed out may be lost on its way.
    if (task.role === 'send' || task.role === 'take') continue;
    assert.deepEqual(book.unseen(keyOf(task), `${task.entity}:`), [], 'acknowledged, and yet gone');
  }
  assert.deepEqual(book.twins('detecting'), []);
}
