import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  createSessionEntity,
  drain,
  LOCK_SECONDS,
  QUEUE,
  SessionFixture,
} from '../spec/sessions/session-fixture.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startBroker } from '../support/start-broker.ts';

/**
 * The clocks of two machines differ by up to a second. A session lock that has expired by one clock and not by
 * the other must not hide a message from a client that accepts the next session.
 */

async function startTwo(
  t: TestContext,
): Promise<readonly [holder: SessionFixture, sender: SessionFixture]> {
  const holder = await startBroker(t);
  await createSessionEntity(holder, QUEUE);
  const sender = await startBroker(t, { beside: holder, clock: new ManualClock() });
  return [new SessionFixture(holder, QUEUE), new SessionFixture(sender, QUEUE)];
}

/** Locks a session with a state. Because of the state it outlives its lock, although it is empty. */
async function holdWithState(holder: SessionFixture): Promise<void> {
  await (await holder.accept('a')).setState('kept');
}

test('a receiver finds a message whose session lock had not expired by the clock of the sender', async (t) => {
  const [holder, sender] = await startTwo(t);
  sender.advance({ ms: -900 });
  await holdWithState(holder);
  for (const one of [holder, sender]) one.advance({ seconds: LOCK_SECONDS });
  // The lock has expired by this clock and the session is empty: it leaves the ready-session index.
  await holder.requireNone();
  await sender.send('a', '1');
  assert.deepEqual(await drain(await holder.nextIs('a')), ['1']);
});

test('a receiver finds a message whose session lock had expired only by the clock of the sender', async (t) => {
  const [holder, sender] = await startTwo(t);
  // The lock then ends in the middle of a second; the ready-session index holds whole seconds.
  holder.advance({ ms: 500 });
  sender.advance({ ms: 950 });
  await holdWithState(holder);
  for (const one of [holder, sender]) one.advance({ seconds: LOCK_SECONDS, ms: -400 });
  // The lock has expired only by the clock of the sender, which finds the session empty.
  await sender.requireNone();
  await sender.send('a', '1');
  // It has ended the lock, so the holder needs not wait until the lock ends by its own clock.
  assert.deepEqual(await drain(await holder.nextIs('a')), ['1']);
});
