import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** A namespace with a due message, and another process whose sweep has taken the lease and is paused. */
async function startSweeping(t: TestContext) {
  const broker = await startBroker(t, { asFunction: true });
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('q', { ForwardTo: 'target' }), 201);
  const at = new Date(broker.clock.now() + 10_000).toUTCString();
  expectStatus(await broker.send('q', 'x', { ScheduledEnqueueTimeUtc: at }), 201);
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const slow = await startBroker(t, { beside: broker, client: pauses.client });
  broker.clock.advance({ seconds: 10 });
  const pause = pauses.pauseNext(({ collection }) => collection === `${broker.namespace}/agenda`);
  const sweeping = slow.sweep();
  await pause.reached;
  return { broker, pause, sweeping };
}

const countIn = async (broker: TestBroker) => (await broker.peek('target')).length;

test('a sweep that begins while another one runs does nothing', async (t) => {
  const { broker, pause, sweeping } = await startSweeping(t);
  const { read, write, requests } = await broker.units(() => broker.sweep());
  assert.deepEqual({ read, write, requests }, { read: 0, write: 1, requests: 1 });
  assert.equal(await countIn(broker), 0);
  pause.goOn();
  await sweeping;
  assert.equal(await countIn(broker), 1);
});

test('a sweep can begin as soon as the previous one has ended', async (t) => {
  const { broker, pause, sweeping } = await startSweeping(t);
  pause.goOn();
  await sweeping;
  const { requests } = await broker.units(() => broker.sweep());
  assert.ok(requests > 2, `${requests} requests`);
});

test('the lease of a sweep that did not end is taken over when it expires, and not before', async (t) => {
  const { broker, pause, sweeping } = await startSweeping(t);
  broker.clock.advance({ ms: 54_999 });
  await broker.sweep();
  assert.equal(await countIn(broker), 0);
  broker.clock.advance({ ms: 1 });
  await broker.sweep();
  assert.equal(await countIn(broker), 1);
  // The first sweep still runs, and must not release a lease that it no longer holds.
  pause.goOn();
  await sweeping;
  assert.equal(await countIn(broker), 1);
});

test('a sweep that fails releases its lease, so that the next one can begin at once', async (t) => {
  const { broker, pause, sweeping } = await startSweeping(t);
  pause.goOnWithoutAnswer();
  await assert.rejects(sweeping, AggregateError);
  await broker.sweep();
  assert.equal(await countIn(broker), 1);
});
