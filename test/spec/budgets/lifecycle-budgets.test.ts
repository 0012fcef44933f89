import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { TestBroker } from '../../support/test-broker.ts';
import {
  deadLetters,
  instant,
  lock,
  messageOf,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from '../queues/queue.ts';

/** The number of messages that one block can hold. */
const BLOCK = 24;
const BODY = 'x'.repeat(100);

/** Starts a broker whose caches hold the queue `q`, as after some time of use. */
async function startWarm(t: TestContext, settings: Record<string, string> = {}) {
  const broker = await startQueue(t, settings, 'warm');
  assert.equal(await broker.complete(await lock(broker)), 200);
  return broker;
}

async function requireWrites(
  t: TestContext,
  broker: TestBroker,
  max: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const { write, requests } = await broker.units(work);
  t.diagnostic(`${write} write units, ${requests} requests`);
  assert.ok(write <= max, `${write} write units; the budget is ${max}`);
}

for (const outcome of ['deadLetter', 'defer'] as const) {
  for (const [what, count] of [
    ['that is alone in its block', 1],
    ['of a full block', BLOCK],
  ] as const) {
    test(`${outcome} of a message ${what} costs at most 5 write units`, async (t) => {
      const broker = await startWarm(t);
      await sendTogether(
        broker,
        Array.from({ length: count }, () => BODY),
      );
      const message = await lock(broker);
      const options = outcome === 'defer' ? {} : { deadLetterReason: 'bad' };
      await requireWrites(t, broker, 5, () => settleOne(broker, message, outcome, options));
    });
  }
}

test('receiving a deferred message by its number and completing it costs at most 4 write units', async (t) => {
  const broker = await startWarm(t);
  await sendTogether(broker, [BODY]);
  await settleOne(broker, await lock(broker), 'defer');
  await requireWrites(t, broker, 4, async () => {
    const [message] = await broker.receiveDeferred('q', [2]);
    assert.ok(message);
    await settleOne(broker, message, 'complete');
  });
});

test(`dropping an expired block of ${BLOCK} messages costs at most 2 write units`, async (t) => {
  const broker = await startWarm(t, { DefaultMessageTimeToLive: 'PT1M' });
  await sendTogether(
    broker,
    Array.from({ length: BLOCK }, () => BODY),
  );
  broker.clock.advance({ minutes: 1 });
  await requireWrites(t, broker, 2, async () => {
    assert.equal(await broker.peekLock('q'), undefined);
  });
  assert.deepEqual(await broker.peek('q'), []);
});

test(`dead-lettering an expired block of ${BLOCK} messages costs at most 6 write units`, async (t) => {
  const settings = { DefaultMessageTimeToLive: 'PT1M', DeadLetteringOnMessageExpiration: 'true' };
  const broker = await startWarm(t, settings);
  await sendTogether(
    broker,
    Array.from({ length: BLOCK }, () => BODY),
  );
  broker.clock.advance({ minutes: 1 });
  await requireWrites(t, broker, 6, async () => {
    assert.equal(await broker.peekLock('q'), undefined);
  });
  assert.equal((await deadLetters(broker)).length, BLOCK);
});

test(`dead-lettering ${BLOCK} messages with one reason in one call costs at most 5 write units, as for one message`, async (t) => {
  const broker = await startWarm(t);
  await sendTogether(
    broker,
    Array.from({ length: BLOCK }, () => BODY),
  );
  const held = await broker.peekLockMany('q', BLOCK);
  await requireWrites(t, broker, 5, () =>
    broker.settle(
      'q',
      held.map((message) => settlementOf(message, 'deadLetter', { deadLetterReason: 'bad' })),
    ),
  );
});

test('scheduling a message and cancelling it costs at most 12 write units', async (t) => {
  const broker = await startWarm(t);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  await requireWrites(t, broker, 12, async () => {
    const scheduled = await broker.schedule('q', [messageOf(BODY, at)]);
    assert.equal((await broker.cancelScheduled('q', scheduled)).status, 200);
  });
});

test('a peek writes nothing', async (t) => {
  const broker = await startWarm(t);
  await sendTogether(broker, [BODY, BODY]);
  await requireWrites(t, broker, 0, () => broker.peek('q'));
});
