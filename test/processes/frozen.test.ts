import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OUTLAST_MS } from '../../shared/app/compose-parts.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Answer } from '../support/api-client.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import {
  correlation,
  createRule,
  createSubscription,
  createTopic,
  drainBodies,
  EVERYTHING,
  NOTHING,
  removeRule,
  subscription,
  updateRule,
} from '../support/topic-entities.ts';

/**
 * A function is frozen between requests, and its monotonic clock may stand still meanwhile. What it read
 * before must not outlive a change that another process has answered since.
 */

interface Scene {
  /** The process whose monotonic clock stands still. */
  readonly frozen: TestBroker;
  /** The process that makes the changes. */
  readonly other: TestBroker;
  /** Runs once while the other process waits for the caches of all processes to run out. */
  whileOtherWaits(work: (waitMs: number) => Promise<void>): void;
}

interface Options {
  /** A wall clock of the frozen process's own. */
  readonly clock?: ManualClock;
}

async function start(t: TestContext, { clock }: Options = {}): Promise<Scene> {
  // The first process of a test believes that it is alone; so it gets nothing to do here.
  const alone = await startBroker(t);
  const frozen = await startBroker(t, {
    beside: alone,
    scheduler: { ...realScheduler, now: () => 0 },
    ...(clock && { clock }),
  });
  const passTime = async (ms: number) => alone.clock.advance({ ms });
  let wait = passTime;
  const scheduler: Scheduler = {
    ...realScheduler,
    now: () => alone.clock.now(),
    after: (ms, work) => {
      if (ms !== OUTLAST_MS) return realScheduler.after(ms, work);
      void wait(ms).then(work);
      return { cancel: () => {} };
    },
  };
  const other = await startBroker(t, { beside: alone, scheduler });
  const whileOtherWaits: Scene['whileOtherWaits'] = (work) => {
    wait = async (ms) => {
      wait = passTime;
      await work(ms);
    };
  };
  return { frozen, other, whileOtherWaits };
}

const SUBSCRIPTION = subscription('s');

/** A topic with a subscription, to which the frozen process has published already. */
async function startTopic(t: TestContext): Promise<Scene> {
  const scene = await start(t);
  await createTopic(scene.other);
  await createSubscription(scene.other, SUBSCRIPTION);
  expectStatus(await scene.frozen.send('t', 'before'), 201);
  return scene;
}

function codeOf({ headers }: Answer): string | null {
  return headers.get('x-dynabus-error');
}

test('a send through a frozen process is not lost after a purge', async (t) => {
  const { frozen, other } = await start(t);
  expectStatus(await other.createQueue('q'), 201);
  expectStatus(await frozen.send('q', 'before'), 201);
  await other.purge('q');
  expectStatus(await frozen.send('q', 'after'), 201);
  assert.deepEqual(await drainBodies(other, 'q'), ['after']);
});

test('a frozen process publishes to a subscription that was created meanwhile', async (t) => {
  const { frozen, other } = await startTopic(t);
  await createSubscription(other, subscription('new'));
  expectStatus(await frozen.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(other, subscription('new')), ['after']);
});

test('a frozen process refuses sends to a queue that was disabled meanwhile', async (t) => {
  const { frozen, other } = await start(t);
  expectStatus(await other.createQueue('q'), 201);
  expectStatus(await frozen.send('q', 'before'), 201);
  expectStatus(await other.updateQueue('q', { Status: 'Disabled' }), 200);
  const answer = await frozen.send('q', 'after');
  assert.deepEqual([answer.status, codeOf(answer)], [403, 'MessagingEntityDisabled']);
});

test('a frozen process hands out nothing of a subscription whose topic was deleted meanwhile', async (t) => {
  const { frozen, other } = await startTopic(t);
  assert.equal((await frozen.peekLock(SUBSCRIPTION))?.body, 'before');
  expectStatus(await other.send('t', 'second'), 201);
  expectStatus(await other.request('DELETE', 't'), 200);
  const answer = await frozen.request('POST', `${SUBSCRIPTION}/messages/head?timeout=0`);
  assert.deepEqual([answer.status, codeOf(answer)], [410, 'MessagingEntityNotFound']);
});

test('a frozen process follows a rule that was changed meanwhile', async (t) => {
  const { frozen, other } = await startTopic(t);
  await createRule(other, SUBSCRIPTION, 'rule', { filter: EVERYTHING });
  await removeRule(other, SUBSCRIPTION, '$Default');
  expectStatus(await frozen.send('t', 'by the first rule'), 201);
  await updateRule(other, SUBSCRIPTION, 'rule', { filter: NOTHING });
  expectStatus(await frozen.send('t', 'by the second rule'), 201);
  assert.deepEqual(await drainBodies(other, SUBSCRIPTION), ['before', 'by the first rule']);
});

test('a frozen process whose wall clock was set back trusts nothing that it read before', async (t) => {
  const clock = new ManualClock();
  const { frozen, other } = await start(t, { clock });
  expectStatus(await other.createQueue('q'), 201);
  expectStatus(await frozen.send('q', 'before'), 201);
  await other.purge('q');
  clock.advance({ hours: -1 });
  expectStatus(await frozen.send('q', 'after'), 201);
  assert.deepEqual(await drainBodies(other, 'q'), ['after']);
});

test('a subscription that was found through a topic just before its deletion is forgotten with it', async (t) => {
  const { frozen, other, whileOtherWaits } = await startTopic(t);
  expectStatus(await other.send('t', 'second'), 201);
  whileOtherWaits(async (waitMs) => {
    // The topic is gone, its subscriptions are not yet; the frozen process still knows the topic.
    other.clock.advance({ ms: 1900 });
    await frozen.request('GET', `${SUBSCRIPTION}/messages`);
    other.clock.advance({ ms: waitMs - 1900 });
  });
  expectStatus(await other.request('DELETE', 't'), 200);
  await createTopic(other);
  const answer = await frozen.request('POST', `${SUBSCRIPTION}/messages/head?timeout=0`);
  assert.deepEqual([answer.status, codeOf(answer)], [410, 'MessagingEntityNotFound']);
});

test('a publication does not go to the subscriptions of an earlier topic of the same name', async (t) => {
  const { frozen, other, whileOtherWaits } = await start(t);
  expectStatus(await other.createQueue('q'), 201);
  await createTopic(other, 't', { FilteringMessagesBeforePublishing: 'true' });
  const filter = correlation({ Label: 'wanted' });
  await createSubscription(other, SUBSCRIPTION, { ForwardTo: 'q' }, { filter });
  const publish = (body: string, Label: string) => frozen.send('t', body, { Label });
  expectStatus(await publish('before', 'wanted'), 201);
  // The frozen process reads the topic anew here, and its subscriptions only while it is being deleted:
  // by a publication that is refused for its lack of subscriptions, before it reaches the topic.
  other.clock.advance({ ms: 2000 });
  expectStatus(await frozen.request('GET', `${SUBSCRIPTION}/messages`), 200);
  whileOtherWaits(async (waitMs) => {
    other.clock.advance({ ms: 1900 });
    await publish('too late', 'unwanted');
    other.clock.advance({ ms: waitMs - 1900 });
  });
  expectStatus(await other.request('DELETE', 't'), 200);
  await createTopic(other);
  expectStatus(await publish('after', 'wanted'), 201);
  assert.deepEqual(await drainBodies(other, 'q'), ['before']);
});
