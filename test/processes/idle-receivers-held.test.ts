import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message } from '../support/composed-process.ts';
import { pathOf, startIdleReceivers } from '../support/idle-receivers.ts';

/** What idle receivers hear late, beyond the bounds of docs/architecture/receiving.md. */

const IDLE_MS = 150_000;
const NEWS_MS = 2600;
const QUEUE = { kind: 'queue', lockMs: 30_000 } as const;

test('while a read of headers hangs, a receiver looks for itself', async (t) => {
  let isHanging = false;
  let goOn = () => {};
  const hanging = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const hook = async (command: string) => {
    if (isHanging && command === 'BatchGetItemCommand') await hanging;
  };
  const { create, receive, other } = await startIdleReceivers(t, { hook });
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  isHanging = true;
  await waiting.idle(2_500);
  await other.broker.send(pathOf('q'), [message('sent')]);
  const found = await waiting.within(5_000 + NEWS_MS);
  goOn();
  assert.equal(found, 'sent');
});

test('a receiver of a session hears within about two seconds that its lock has ended', async (t) => {
  const { create, receive, waiting: process } = await startIdleReceivers(t);
  await create('q', { kind: 'queue', lockMs: 160_000, requiresSession: true });
  const session = await process.broker.acceptSession(pathOf('q'), { sessionId: 's', waitMs: 0 });
  assert.ok(session);
  const waiting = receive('q', { session });
  await waiting.idle(158_000);
  assert.equal(await waiting.within(2_000 + NEWS_MS), '');
});
