import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import { message } from '../support/composed-process.ts';
import { pathOf, startIdleReceivers } from '../support/idle-receivers.ts';

/** Receives that wait while the database is busy: they try again, whatever of their look was refused. */

const NEWS_MS = 4600;
const BUSY_MS = 15_000;

for (const place of ['q', 'q/$deadletterqueue', 'a session'] as const) {
  for (const refused of ['GetItemCommand', 'QueryCommand', 'all'] as const) {
    test(`a receive that waits at ${place} outlasts a database that refuses requests: ${refused}`, async (t) => {
      let isBusy = false;
      const hook = (command: string) => {
        if (isBusy && (refused === 'all' || command === refused)) throw throttled();
      };
      const { create, receive, other, waiting: process } = await startIdleReceivers(t, { hook });
      const requiresSession = place === 'a session';
      await create('q', { kind: 'queue', lockMs: 300_000, requiresSession });
      const session = requiresSession
        ? await process.broker.acceptSession(pathOf('q'), { sessionId: 's', waitMs: 0 })
        : undefined;
      const waiting = receive(requiresSession ? 'q' : place, session && { session });
      await waiting.idle(20_000);
      isBusy = true;
      await waiting.idle(BUSY_MS);
      isBusy = false;
      await other.broker.send(pathOf('q'), [message('sent', session && { sessionId: 's' })]);
      const isDead = place === 'q/$deadletterqueue';
      assert.equal(await waiting.within(NEWS_MS), isDead ? 'waits' : 'sent');
    });
  }
}

test('an accept of the next session that waits outlasts a busy database', async (t) => {
  let isBusy = false;
  const hook = () => {
    if (isBusy) throw throttled();
  };
  const { create, other, waiting: process, time } = await startIdleReceivers(t, { hook });
  await create('q', { kind: 'queue', lockMs: 300_000, requiresSession: true });
  const accepting = process.broker.acceptSession(pathOf('q'), { waitMs: 60_000 });
  await time.pass(10_000);
  isBusy = true;
  await time.pass(BUSY_MS);
  isBusy = false;
  await other.broker.send(pathOf('q'), [message('sent', { sessionId: 's' })]);
  await time.pass(NEWS_MS);
  assert.equal((await accepting)?.sessionId, 's');
});

function throttled(): Error {
  return new ProvisionedThroughputExceededException({ message: 'Slow down.', $metadata: {} });
}
