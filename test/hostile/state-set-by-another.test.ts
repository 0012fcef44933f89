import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { Q, startProcess } from '../support/composed-process.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startTries } from '../support/tries-client.ts';

/** The state of a session is set, the answer is lost, and another process works on the session before the next try. */

const LOCK_MS = 30_000;

async function start(t: TestContext) {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client: tries.client, clock });
  const there = await startProcess(t, { clock, namespace: here.namespace });
  await here.management.create('q', { kind: 'queue', requiresSession: true, lockMs: LOCK_MS });
  const session = await here.broker.acceptSession(Q, { sessionId: 's', waitMs: 0 });
  assert.ok(session !== undefined);
  return { tries, clock, here, there, session };
}

test('a large state that is written again after a lost answer is still there', async (t) => {
  const { tries, here, there, session } = await start(t);
  const first = randomBytes(4000);
  const second = randomBytes(4000);
  tries.next('UpdateItemCommand', [
    'answer-lost',
    async () => {
      // The same holder by another process, which deletes the state that it replaces.
      await there.broker.setSessionState(Q, session, second);
      await there.idle();
    },
  ]);
  await here.broker.setSessionState(Q, session, first);
  await here.idle();
  const state = await there.broker.sessionState(Q, session);
  assert.ok(state !== undefined);
  assert.ok([first, second].some((one) => one.equals(state)));
});

test('clearing a state is not refused for a lost lock if it was done and the item of the session is gone since', async (t) => {
  const { tries, clock, here, there, session } = await start(t);
  await here.broker.setSessionState(Q, session, Buffer.from('state'));
  clock.advance({ seconds: 1 });
  tries.next('UpdateItemCommand', [
    'answer-lost',
    // This attempt finds the state of the first one, so the state is written again with a later stamp.
    'overtaken',
    'conflict',
    async () => {
      clock.advance({ seconds: 31 });
      const other = await there.broker.acceptSession(Q, { sessionId: 's', waitMs: 0 });
      assert.ok(other !== undefined);
      assert.equal(
        await there.broker.sessionState(Q, other),
        undefined,
        'the first attempt did it',
      );
      await there.broker.releaseSession(Q, other);
    },
  ]);
  await assert.rejects(here.broker.setSessionState(Q, session, undefined), {
    code: 'ServiceTimeout',
  });
});
