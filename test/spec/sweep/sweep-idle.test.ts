import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { withoutIdleChecks } from '../../support/due-work-items.ts';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import { startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  subscription,
  updateTopic,
} from '../../support/topic-entities.ts';
import { instant, messageOf, startQueue } from '../queues/queue.ts';

const IDLE = { AutoDeleteOnIdle: 'PT5M' };
const FAR = { AutoDeleteOnIdle: 'P3650D' };
const FEW = 5;
const MANY = 300;
/** Creations at a time. */
const WIDTH = 20;

async function exists(broker: TestBroker, path = 'q'): Promise<boolean> {
  const { status } = await broker.request('GET', path);
  assert.ok(status === 200 || status === 404, `${status}`);
  return status === 200;
}

/** Another process, whose requests to the database can be paused. */
async function startPausable(t: TestContext, broker: TestBroker) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  return { pauses, process: await startBroker(t, { beside: broker, client: pauses.client }) };
}

/** Sweeps a minute later, this many times. */
async function sweepMinutes(broker: TestBroker, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    broker.clock.advance({ minutes: 1 });
    await broker.sweep();
  }
}

/** After how many of these minutes, with a sweep in each, the entity is gone. */
async function minutesUntilGone(broker: TestBroker, path: string, most: number): Promise<number> {
  for (let minute = 1; minute <= most; minute++) {
    await sweepMinutes(broker, 1);
    if (!(await exists(broker, path))) return minute;
  }
  throw new Error(`'${path}' exists after ${most} minutes.`);
}

/** A namespace with this many queues and topics, half of which are deleted when idle for ten years. */
async function startWith(t: TestContext, entities: number): Promise<TestBroker> {
  const broker = await startBroker(t);
  const create = async (number: number) => {
    const settings = number % 2 === 0 ? FAR : {};
    if (number % 4 < 2) expectStatus(await broker.createQueue(`e${number}`, settings), 201);
    else await createTopic(broker, `e${number}`, settings);
  };
  for (let from = 0; from < entities; from += WIDTH) {
    const count = Math.min(WIDTH, entities - from);
    await Promise.all(Array.from({ length: count }, (_, i) => create(from + i)));
  }
  return broker;
}

test(`a run of the sweep costs the same with ${FEW} and with ${MANY} idle entities`, async (t) => {
  const costs = [];
  for (const entities of [FEW, MANY]) {
    const broker = await startWith(t, entities);
    // This run walks over all entities.
    await broker.sweep();
    broker.clock.advance({ minutes: 1 });
    costs.push(await broker.units(() => broker.sweep()));
  }
  const [few, many] = costs;
  assert.deepEqual(many, few);
  // It takes and releases its lease, and finds neither due work nor tombstones.
  assert.deepEqual(many, { read: 1, write: 2, requests: 4, roundTrips: 4 });
});

test('#A18 topics and subscriptions are deleted within a minute after their AutoDeleteOnIdle', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 'kept');
  await createSubscription(broker, subscription('s', 'kept'), IDLE);
  await createTopic(broker, 't');
  broker.clock.advance({ seconds: 30 });
  await updateTopic(broker, 't', IDLE);
  const gone = subscription('s', 'kept');
  assert.equal(await minutesUntilGone(broker, gone, 10), 5);
  assert.equal(await minutesUntilGone(broker, 't', 10), 1);
  assert.ok(await exists(broker, 'kept'));
});

test('#142 a queue is deleted at most two minutes late, whenever it was used last', async (t) => {
  const uses = {
    send: (broker: TestBroker) => broker.send('q', 'x'),
    peek: (broker: TestBroker) => broker.peek('q'),
  };
  for (const [what, use] of Object.entries(uses)) {
    for (const seconds of [17, 130, 251, 299]) {
      const broker = await startQueue(t, IDLE);
      broker.clock.advance({ seconds });
      await use(broker);
      const minutes = await minutesUntilGone(broker, 'q', 10);
      assert.ok(minutes >= 5 && minutes <= 7, `${minutes} minutes after a ${what}`);
    }
  }
});

test('#142 a queue whose scheduled message was cancelled or purged is deleted in time', async (t) => {
  for (const how of ['cancel', 'purge']) {
    const broker = await startQueue(t, IDLE);
    const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 360_000 }) };
    const scheduled = await broker.schedule('q', [messageOf('a', at)]);
    await sweepMinutes(broker, 62);
    assert.ok(await exists(broker));
    if (how === 'purge') await broker.purge('q');
    else expectStatus(await broker.cancelScheduled('q', scheduled), 200);
    // The sweep adds a minute for uses that other processes have not written down.
    assert.equal(await minutesUntilGone(broker, 'q', 10), 6, how);
  }
});

test('#A20 a purge is a use of its queue that all processes know, and does not end the checks', async (t) => {
  const broker = await startQueue(t, IDLE, 'a');
  const sweeper = await startBroker(t, { beside: broker });
  await sweepMinutes(sweeper, 3);
  await broker.purge('q');
  assert.equal(await minutesUntilGone(sweeper, 'q', 10), 6);
});

test('the checks of a queue in use that is updated every minute do not become more', async (t) => {
  const broker = await startQueue(t, IDLE);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const counts: number[] = [];
  for (let minute = 0; minute < 60; minute++) {
    broker.clock.advance({ seconds: 7 });
    expectStatus(await broker.updateQueue('q', { ...IDLE, UserMetadata: `${minute}` }), 200);
    expectStatus(await broker.send('q', 'x'), 201);
    broker.clock.advance({ seconds: 53 });
    await broker.sweep();
    counts.push(await items.ofSweep());
  }
  t.diagnostic(`up to ${Math.max(...counts)} entries`);
  assert.ok(Math.max(...counts) <= 2, `${counts}`);
});

test('after an upgrade, the first sweeps find the idle entities of the earlier version', async (t) => {
  const broker = await startQueue(t, IDLE);
  await createTopic(broker, 't', IDLE);
  await createSubscription(broker, subscription('s', 't'), FAR);
  await sweepMinutes(broker, 2);
  await withoutIdleChecks(broker);
  const upgraded = await startBroker(t, { beside: broker });
  await sweepMinutes(upgraded, 2);
  assert.ok(await exists(broker));
  await sweepMinutes(upgraded, 1);
  for (const path of ['q', 't']) assert.equal(await exists(broker, path), false, path);
});

test('#A20 a queue that is updated while the sweep is about to delete it is not deleted', async (t) => {
  const broker = await startQueue(t, IDLE);
  const { process: sweeper, pauses } = await startPausable(t, broker);
  broker.clock.advance({ minutes: 5 });
  const deletion = pauses.pauseNext(({ command }) => command.startsWith('TransactWrite'));
  const swept = sweeper.sweep();
  await deletion.reached;
  expectStatus(await broker.updateQueue('q'), 200);
  deletion.goOn();
  await swept;
  assert.ok(await exists(broker));
});

test('#142 a use counts although the write of the use before it failed', async (t) => {
  let fails = false;
  const client = hookedClient(({ command, collection }) => {
    if (fails && command === 'UpdateItemCommand' && !collection?.includes('/')) throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startQueue(t, IDLE);
  const user = await startBroker(t, { beside: broker, client });
  broker.clock.advance({ minutes: 3 });
  fails = true;
  expectStatus(await user.request('DELETE', 'q/messages/head?timeout=0'), 204);
  fails = false;
  broker.clock.advance({ seconds: 30 });
  expectStatus(await user.request('DELETE', 'q/messages/head?timeout=0'), 204);
  await sweepMinutes(broker, 4);
  assert.ok(await exists(broker));
});

test('#142 a process that was frozen while it stored a use does not undo a later one', async (t) => {
  const broker = await startQueue(t, IDLE);
  const { process: frozen, pauses } = await startPausable(t, broker);
  const sweeper = await startBroker(t, { beside: broker });
  const storing = pauses.pauseNext(({ command }) => command === 'UpdateItemCommand');
  await sweepMinutes(sweeper, 1);
  await frozen.peek('q');
  await storing.reached;
  await sweepMinutes(sweeper, 3);
  await broker.peek('q');
  broker.clock.advance({ minutes: 2 });
  await broker.peek('q');
  await broker.units(async () => {});
  storing.goOn();
  await frozen.units(async () => {});
  await sweepMinutes(sweeper, 4);
  assert.ok(await exists(broker));
});

test('a run does not fail because a client deletes the queue that it is about to delete', async (t) => {
  const broker = await startQueue(t, IDLE);
  const { process: sweeper, pauses } = await startPausable(t, broker);
  broker.clock.advance({ minutes: 5 });
  const deletion = pauses.pauseNext(({ command }) => command.startsWith('TransactWrite'));
  const swept = sweeper.sweep();
  await deletion.reached;
  expectStatus(await broker.request('DELETE', 'q'), 200);
  deletion.goOn();
  await swept;
});

test('#142 a use that another process stores during an update counts', async (t) => {
  const broker = await startQueue(t, IDLE);
  const { process: updater, pauses } = await startPausable(t, broker);
  const sweeper = await startBroker(t, { beside: broker });
  broker.clock.advance({ minutes: 3 });
  const writing = pauses.pauseNext(({ command }) => command.startsWith('TransactWrite'));
  const updated = updater.updateQueue('q', IDLE);
  await writing.reached;
  await broker.units(() => broker.peek('q'));
  writing.goOn();
  expectStatus(await updated, 200);
  // This use is not stored, because one was stored a moment ago.
  broker.clock.advance({ seconds: 59 });
  await broker.peek('q');
  await sweepMinutes(sweeper, 4);
  broker.clock.advance({ seconds: 30 });
  await sweeper.sweep();
  assert.ok(await exists(broker));
});
