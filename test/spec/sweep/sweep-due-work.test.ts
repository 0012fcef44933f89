import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { leaveDueWork } from '../../support/due-work.ts';
import { databaseFault, hookedClient } from '../../support/hooked-client.ts';
import { type Outgoing, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** Schedules a message this many seconds ahead. */
async function schedule(broker: TestBroker, path: string, body: string, seconds: number) {
  const at = new Date(broker.clock.now() + seconds * 1000).toUTCString();
  expectStatus(await broker.send(path, body, { ScheduledEnqueueTimeUtc: at }), 201);
}

async function createQueues(broker: TestBroker, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const settings = name === 'target' ? {} : { ForwardTo: 'target' };
    expectStatus(await broker.createQueue(name, settings as Record<string, string>), 201);
  }
}

async function bodiesIn(broker: TestBroker, path: string): Promise<readonly string[]> {
  return (await broker.receiveAndDeleteMany(path, 1000)).map(({ body }) => body).toSorted();
}

/** More than the sweep reads at a time. */
const MANY = 450;

/** A sweep whose queries of one queue fail until `mend` is called. */
async function startFailing(t: TestContext) {
  const broker = await startBroker(t, { asFunction: true });
  await createQueues(broker, 'target', 'bad', 'good');
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const bad = await items.idOf('bad');
  let isMended = false;
  const client = hookedClient(({ command, collection }) => {
    const isBad = collection === `${bad}.0m0` && command === 'QueryCommand';
    if (!isMended && isBad) throw databaseFault();
  });
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client });
  return {
    broker,
    sweeper,
    bad: { id: bad, name: 'bad' },
    mend: () => {
      isMended = true;
    },
  };
}

/** Sweeps; returns the error message if the sweep fails. */
async function errorOf(sweeper: TestBroker): Promise<string | undefined> {
  try {
    await sweeper.sweep();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof AggregateError);
    return error.message;
  }
}

test('a queue with much due work that fails does not delay the due work of other queues', async (t) => {
  const { broker, sweeper, bad } = await startFailing(t);
  await leaveDueWork(broker, bad, MANY);
  await schedule(broker, 'good', 'waits', MANY * 10);
  broker.clock.advance({ seconds: MANY * 10 });
  // A single failure of the table is not reported as an error.
  assert.equal(await errorOf(sweeper), undefined);
  let error: string | undefined;
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ minutes: 1 });
    error ??= await errorOf(sweeper);
  }
  assert.match(error ?? '', /Attempt 3 .* 'bad'/);
  assert.deepEqual(await bodiesIn(broker, 'target'), ['waits']);
});

test('the sweep retries failing due work at growing intervals, and does it once it no longer fails', async (t) => {
  const { broker, sweeper, mend } = await startFailing(t);
  await schedule(broker, 'bad', 'x', 10);
  const failures: string[] = [];
  for (let minute = 0; minute < 59; minute++) {
    broker.clock.advance({ minutes: 1 });
    const error = await errorOf(sweeper);
    // Once an hour every queue that forwards is visited as well.
    if (error?.includes('Attempt') === true) failures.push(error);
  }
  assert.ok(failures.length >= 3 && failures.length <= 6, `${failures.length} attempts in an hour`);
  assert.match(failures[0] ?? '', /Attempt 3 of the due work for 'bad' \(partition \d+\) failed/);
  mend();
  for (let minute = 0; minute < 16; minute++) {
    broker.clock.advance({ minutes: 1 });
    await sweeper.sweep();
  }
  assert.deepEqual(await bodiesIn(broker, 'target'), ['x']);
});

test('one sweep does hundreds of entries of due work', async (t) => {
  const { broker, sweeper, bad, mend } = await startFailing(t);
  mend();
  await leaveDueWork(broker, bad, MANY);
  await schedule(broker, 'good', 'waits', MANY * 10);
  broker.clock.advance({ seconds: MANY * 10 });
  await sweeper.sweep();
  assert.deepEqual(await bodiesIn(broker, 'target'), ['waits']);
});

test('a queue whose due work kills the sweep is postponed, so that later sweeps finish', async (t) => {
  const broker = await startBroker(t, { asFunction: true });
  await createQueues(broker, 'target', 'fatal', 'good');
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const fatal = `${await items.idOf('fatal')}.0m0`;
  // The hourly walk over the entities would visit the queue too, so it is done before.
  await broker.sweep();
  await schedule(broker, 'fatal', 'x', 10);
  await schedule(broker, 'good', 'y', 10);
  const hanging: (() => void)[] = [];
  t.after(() => {
    for (const goOn of hanging) goOn();
  });
  let deaths = 0;
  let die = () => {};
  const client = hookedClient(({ command, collection }) => {
    if (command !== 'QueryCommand' || collection !== fatal) return undefined;
    deaths++;
    die();
    return new Promise<void>((resolve) => hanging.push(resolve));
  });
  t.after(() => client.destroy());
  const crashing = await startBroker(t, { beside: broker, client });
  let ends = 0;
  for (let minute = 0; minute < 12; minute++) {
    broker.clock.advance({ minutes: 1 });
    const death = new Promise<void>((resolve) => {
      die = resolve;
    });
    const ended = crashing.sweep().then(() => {
      ends++;
    });
    await Promise.race([death, ended]);
  }
  assert.ok(deaths >= 2 && deaths <= 5, `${deaths} runs died`);
  assert.ok(ends >= 7, `${ends} runs finished`);
  assert.deepEqual(await bodiesIn(broker, 'target'), ['y']);
});

const isDueWork =
  ({ namespace }: TestBroker, wanted: string) =>
  ({ command, collection }: Outgoing) =>
    command === wanted && collection === `${namespace}/agenda`;

/** Pauses a sender before it stores a message that comes due together with a stored one. */
async function startLateSender(t: TestContext) {
  const broker = await startBroker(t, { asFunction: true });
  await createQueues(broker, 'target', 'source');
  await broker.sweep();
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const sender = await startBroker(t, {
    beside: broker,
    client: pauses.client,
    asFunction: true,
  });
  broker.clock.advance({ seconds: 60 });
  await schedule(sender, 'source', 'first', 5);
  const storing = pauses.pauseNext(({ command }) => command === 'TransactWriteItemsCommand');
  const sent = schedule(sender, 'source', 'late', 1);
  await storing.reached;
  broker.clock.advance({ seconds: 10 });
  return { broker, storing, sent };
}

test('a message stored after a sweep is forwarded by the next sweep', async (t) => {
  const { broker, storing, sent } = await startLateSender(t);
  await broker.sweep();
  storing.goOn();
  await sent;
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  assert.deepEqual(await bodiesIn(broker, 'target'), ['first', 'late']);
});

test('a message stored while a sweep is working on its queue is forwarded by the next sweep', async (t) => {
  const { broker, storing, sent } = await startLateSender(t);
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client: pauses.client });
  const removing = pauses.pauseNext(isDueWork(broker, 'DeleteItemCommand'));
  const sweeping = sweeper.sweep();
  await removing.reached;
  storing.goOn();
  await sent;
  removing.goOn();
  await sweeping;
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  assert.deepEqual(await bodiesIn(broker, 'target'), ['first', 'late']);
});

test('messages whose last delivery lapses before and after a sweep died are dead-lettered alike', async (t) => {
  const broker = await startBroker(t, { asFunction: true });
  expectStatus(await broker.createQueue('target'), 201);
  const settings = {
    LockDuration: 'PT1M',
    MaxDeliveryCount: '1',
    ForwardDeadLetteredMessagesTo: 'target',
  };
  expectStatus(await broker.createQueue('q', settings), 201);
  let updates = 0;
  const dying = hookedClient(({ command }) => {
    if (command === 'UpdateItemCommand' && ++updates > 1) throw new Error('The process died.');
  });
  t.after(() => dying.destroy());
  const dead = await startBroker(t, { beside: broker, client: dying });
  const sweeper = await startBroker(t, { beside: broker });
  expectStatus(await broker.send('q', 'first'), 201);
  assert.ok(await broker.peekLock('q'));
  await assert.rejects(dead.sweep());
  broker.clock.advance({ seconds: 60 });
  expectStatus(await broker.send('q', 'second'), 201);
  assert.equal((await broker.peekLock('q'))?.body, 'second');
  for (let i = 0; i < 4; i++) {
    await sweeper.sweep();
    broker.clock.advance({ seconds: 60 });
  }
  const arrived = (await broker.peek('target')).map(({ body }) => body);
  assert.deepEqual(arrived, ['first', 'second']);
});

test('a sweep that was frozen does not forward by a ForwardTo that was removed meanwhile', async (t) => {
  const broker = await startBroker(t, { asFunction: true });
  await createQueues(broker, 'target', 'source');
  await broker.sweep();
  await schedule(broker, 'source', 'due', 5);
  broker.clock.advance({ seconds: 10 });
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client: pauses.client });
  // The sweep has read the queue, and begins to look for its messages.
  const looking = pauses.pauseNext(({ collection }) => collection.endsWith('.0'));
  const swept = sweeper.sweep();
  await looking.reached;
  broker.clock.advance({ seconds: 10 });
  expectStatus(await broker.updateQueue('source'), 200);
  expectStatus(await broker.send('source', 'x'), 201);
  looking.goOn();
  await swept;
  broker.clock.advance({ minutes: 2 });
  await sweeper.sweep();
  assert.deepEqual(await bodiesIn(broker, 'source'), ['due', 'x']);
  assert.deepEqual(await bodiesIn(broker, 'target'), []);
});
