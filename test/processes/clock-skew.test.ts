import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  createPlace,
  drain,
  LOCK_SECONDS,
  QUEUE,
  SessionScene,
} from '../spec/sessions/session-scene.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startBroker } from '../support/start-broker.ts';

/**
 * Clocks of two machines differ by up to a second. A session lock that has run out by one of them, and
 * not by the other, must not hide a message from those who accept the next session.
 */

async function startTwo(
  t: TestContext,
): Promise<readonly [holder: SessionScene, sender: SessionScene]> {
  // The first process of a test believes that it is alone; so it gets nothing to do here.
  const alone = await startBroker(t);
  await createPlace(alone, QUEUE);
  const startOne = async () => {
    const broker = await startBroker(t, { beside: alone, clock: new ManualClock() });
    return new SessionScene(broker, QUEUE);
  };
  return [await startOne(), await startOne()];
}

/** A session that outlasts its lock although it is empty, since it has a state. */
async function holdWithState(holder: SessionScene): Promise<void> {
  await (await holder.accept('a')).setState('kept');
}

test('a message is found that was sent to a session whose lock had not run out by the clock of its sender', async (t) => {
  const [holder, sender] = await startTwo(t);
  sender.advance({ ms: -900 });
  await holdWithState(holder);
  for (const one of [holder, sender]) one.advance({ seconds: LOCK_SECONDS });
  // The lock has run out by this clock, and the session is empty: it is no longer listed.
  await holder.noneWaits();
  await sender.send('a', '1');
  assert.deepEqual(await drain(await holder.nextIs('a')), ['1']);
});

test('a message is found that was sent to a session whose lock had run out by the clock of its sender only', async (t) => {
  const [holder, sender] = await startTwo(t);
  // So that the lock ends in the middle of a second: listings are for whole ones.
  holder.advance({ ms: 500 });
  sender.advance({ ms: 950 });
  await holdWithState(holder);
  for (const one of [holder, sender]) one.advance({ seconds: LOCK_SECONDS, ms: -400 });
  // The lock has run out by the clock of the sender alone, which finds the session empty.
  await sender.noneWaits();
  await sender.send('a', '1');
  await holder.noneWaits();
  holder.advance({ ms: 400 });
  assert.deepEqual(await drain(await holder.nextIs('a')), ['1']);
});
