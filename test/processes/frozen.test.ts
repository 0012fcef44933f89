import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
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
import { LEASE_END_MS } from '../support/virtual-time.ts';

/**
 * Lambda freezes a function between requests, and its monotonic clock may stand still meanwhile. The function
 * must not use what it read before once another process has acknowledged a change to it.
 */

interface Fixture {
  /** The process whose monotonic clock stands still. */
  readonly frozen: TestBroker;
  /** The process that makes the changes. */
  readonly other: TestBroker;
  /** Runs `work` once, while the other process waits for the caches of all processes to expire. */
  whileOtherWaits(work: (waitMs: number) => Promise<void>): void;
}

interface Options {
  /** The wall clock of the frozen process. Default: that of all processes. */
  readonly clock?: ManualClock;
}

async function start(t: TestContext, { clock: ofFrozen }: Options = {}): Promise<Fixture> {
  const clock = new ManualClock();
  const passTime = async (ms: number) => clock.advance({ ms });
  let wait = passTime;
  const scheduler: Scheduler = {
    ...realScheduler,
    now: () => clock.now(),
    after: (ms, work) => {
      if (ms !== LEASE_END_MS) return realScheduler.after(ms, work);
      void wait(ms).then(work);
      return { cancel: () => {} };
    },
  };
  const other = await startBroker(t, { clock, scheduler });
  const frozen = await startBroker(t, {
    beside: other,
    scheduler: { ...realScheduler, now: () => 0 },
    ...(ofFrozen && { clock: ofFrozen }),
  });
  const whileOtherWaits: Fixture['whileOtherWaits'] = (work) => {
    wait = async (ms) => {
      wait = passTime;
      await work(ms);
    };
  };
  return { frozen, other, whileOtherWaits };
}

const SUBSCRIPTION = subscription('s');

/** Creates a topic with a subscription, and publishes a message through the frozen process. */
async function startTopic(t: TestContext): Promise<Fixture> {
  const fixture = await start(t);
  await createTopic(fixture.other);
  await createSubscription(fixture.other, SUBSCRIPTION);
  expectStatus(await fixture.frozen.send('t', 'before'), 201);
  return fixture;
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

test('a frozen process publishes to a subscription that was created in the meantime', async (t) => {
  const { frozen, other } = await startTopic(t);
  await createSubscription(other, subscription('new'));
  expectStatus(await frozen.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(other, subscription('new')), ['after']);
});

test('a frozen process refuses sends to a queue that was disabled in the meantime', async (t) => {
  const { frozen, other } = await start(t);
  expectStatus(await other.createQueue('q'), 201);
  expectStatus(await frozen.send('q', 'before'), 201);
  expectStatus(await other.updateQueue('q', { Status: 'Disabled' }), 200);
  const answer = await frozen.send('q', 'after');
  assert.deepEqual([answer.status, codeOf(answer)], [403, 'MessagingEntityDisabled']);
});

test('a frozen process delivers no message of a subscription whose topic was deleted in the meantime', async (t) => {
  const { frozen, other } = await startTopic(t);
  assert.equal((await frozen.peekLock(SUBSCRIPTION))?.body, 'before');
  expectStatus(await other.send('t', 'second'), 201);
  expectStatus(await other.request('DELETE', 't'), 200);
  const answer = await frozen.request('POST', `${SUBSCRIPTION}/messages/head?timeout=0`);
  assert.deepEqual([answer.status, codeOf(answer)], [410, 'MessagingEntityNotFound']);
});

test('a frozen process applies a rule that was changed in the meantime', async (t) => {
  const { frozen, other } = await startTopic(t);
  await createRule(other, SUBSCRIPTION, 'rule', { filter: EVERYTHING });
  await removeRule(other, SUBSCRIPTION, '$Default');
  expectStatus(await frozen.send('t', 'by the first rule'), 201);
  await updateRule(other, SUBSCRIPTION, 'rule', { filter: NOTHING });
  expectStatus(await frozen.send('t', 'by the second rule'), 201);
  assert.deepEqual(await drainBodies(other, SUBSCRIPTION), ['before', 'by the first rule']);
});

test('a frozen process whose wall clock was set back does not use what it read before', async (t) => {
  const clock = new ManualClock();
  const { frozen, other } = await start(t, { clock });
  expectStatus(await other.createQueue('q'), 201);
  expectStatus(await frozen.send('q', 'before'), 201);
  await other.purge('q');
  clock.advance({ hours: -1 });
  expectStatus(await frozen.send('q', 'after'), 201);
  assert.deepEqual(await drainBodies(other, 'q'), ['after']);
});

test('a process forgets a subscription that it looked up just before the deletion of the topic', async (t) => {
  const { frozen, other, whileOtherWaits } = await startTopic(t);
  expectStatus(await other.send('t', 'second'), 201);
  whileOtherWaits(async (waitMs) => {
    // The topic is deleted and its subscriptions are not yet; the frozen process still caches the topic.
    other.clock.advance({ ms: 1900 });
    await frozen.request('GET', `${SUBSCRIPTION}/messages`);
    other.clock.advance({ ms: waitMs - 1900 });
  });
  expectStatus(await other.request('DELETE', 't'), 200);
  await createTopic(other);
  const answer = await frozen.request('POST', `${SUBSCRIPTION}/messages/head?timeout=0`);
  assert.deepEqual([answer.status, codeOf(answer)], [410, 'MessagingEntityNotFound']);
});

test('a message is not published to the subscriptions of an earlier topic of the same name', async (t) => {
  const { frozen, other, whileOtherWaits } = await start(t);
  expectStatus(await other.createQueue('q'), 201);
  await createTopic(other, 't', { FilteringMessagesBeforePublishing: 'true' });
  const filter = correlation({ Label: 'wanted' });
  await createSubscription(other, SUBSCRIPTION, { ForwardTo: 'q' }, { filter });
  const publish = (body: string, Label: string) => frozen.send('t', body, { Label });
  expectStatus(await publish('before', 'wanted'), 201);
  // The frozen process reads the topic again here, and its subscriptions only during the deletion: with a
  // message that is refused because no subscription matches it, before it reaches the topic.
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
