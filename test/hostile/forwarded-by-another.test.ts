import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { ask, message, Q, startProcess } from '../support/composed-process.ts';
import { hookedClient, throttled } from '../support/hooked-client.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startPauses } from '../support/pause-client.ts';

/**
 * Two processes forward the messages of one block, the destination cannot take them, and one of the processes hears
 * nothing of its transaction. The messages keep their numbers in the transfer dead-letter queue.
 */

const DEAD = parseEntityPath('q/$deadletterqueue');
const TRANSFER = parseEntityPath('q/$transfer/$deadletterqueue');
const BODY_BYTES = 4000;

test('a forward that was not carried out is not taken for done because another process forwarded one of the messages', async (t) => {
  let left = Number.POSITIVE_INFINITY;
  let meanwhile = async () => {};
  const hereClient = hookedClient(async ({ command }) => {
    if (command !== 'TransactWriteItemsCommand' || --left !== 0) return;
    await meanwhile();
    throw Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' });
  });
  t.after(() => hereClient.destroy());
  let transactions = Number.NEGATIVE_INFINITY;
  const thereClient = hookedClient(({ command }) => {
    // It dead-letters the expired message next.
    if (command === 'TransactWriteItemsCommand' && ++transactions > 1) throw throttled();
  });
  t.after(() => thereClient.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client: hereClient, clock });
  const there = await startProcess(t, { client: thereClient, clock, namespace: here.namespace });
  const queue = { kind: 'queue', deadLetteringOnMessageExpiration: true } as const;
  await here.management.create('q', queue);
  await here.management.create('d', { kind: 'queue' });
  const bodies = ['a', 'b'].map((name) => name + randomBytes(BODY_BYTES / 2).toString('hex'));
  const [a = '', b = ''] = bodies;
  await here.broker.send(Q, [message(a), message(b, { timeToLiveMs: 10_000 })]);
  await here.management.update('d', { kind: 'queue', status: 'SendDisabled' }, '*');

  meanwhile = async () => {
    clock.advance({ seconds: 11 });
    transactions = 0;
    // Forwards what it finds; there is no such message.
    await there.broker.operate(Q, { kind: 'delete' }, [999n]);
    transactions = Number.NEGATIVE_INFINITY;
  };
  // The first transaction changes the queue, the second one forwards.
  left = 2;
  await here.management.update('q', { ...queue, forwardTo: 'd' }, '*');
  assert.ok(left <= 0);
  await here.idle();

  const read = async (path: typeof DEAD) =>
    (await there.broker.receive(path, ask({ maxMessages: 2 }))).map((one) =>
      Buffer.from(one.message.body).toString(),
    );
  assert.deepEqual(await read(TRANSFER), [a]);
  // Forwards again, and dead-letters what has expired.
  await there.broker.operate(Q, { kind: 'delete' }, [999n]);
  assert.deepEqual(await read(DEAD), [b]);
});

test('a forward of two due messages that was not carried out is not taken for done because another process forwarded one of them', async (t) => {
  let left = Number.POSITIVE_INFINITY;
  let meanwhile = async () => {};
  const client = hookedClient(async ({ command }) => {
    if (command !== 'TransactWriteItemsCommand' || --left !== 0) return;
    await meanwhile();
    throw Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' });
  });
  t.after(() => client.destroy());
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client, clock });
  const there = await startProcess(t, { client: pauses.client, clock, namespace: here.namespace });
  await here.management.create('d', { kind: 'queue' });
  await here.management.create('q', { kind: 'queue', forwardTo: 'd' });
  await here.management.update('d', { kind: 'queue', status: 'SendDisabled' }, '*');
  const bodies = ['a', 'b'].map((name) => name + randomBytes(BODY_BYTES / 2).toString('hex'));
  const [a = '', b = ''] = bodies;
  const scheduledEnqueueAt = clock.now() + 10_000;
  await here.broker.send(Q, [message(a, { scheduledEnqueueAt })]);
  // There are no dead letters; after that it forwards.
  const forward = (process: typeof here) => process.broker.resubmit(DEAD, { maxMessages: 1 });

  // The other process has read the first message only; the second one arrives a little later.
  const pause = pauses.pauseNext(({ command }) => command === 'TransactWriteItemsCommand');
  clock.advance({ seconds: 10 });
  const forwarding = forward(there);
  await pause.reached;
  // The clock of the sender is a little behind.
  clock.advance({ seconds: -1 });
  await here.broker.send(Q, [message(b, { scheduledEnqueueAt })]);
  clock.advance({ seconds: 1 });
  // Then it looks whether more is due.
  const look = pauses.pauseNext(({ command }) => command === 'QueryCommand');
  meanwhile = async () => {
    pause.goOn();
    await look.reached;
  };
  left = 1;
  await forward(here);
  assert.ok(left <= 0);
  await here.idle();
  look.goOn();
  await forwarding;
  await forward(there);
  const received = await there.broker.receive(TRANSFER, ask({ maxMessages: 3 }));
  assert.deepEqual(
    received.map((one) => Buffer.from(one.message.body).toString()),
    [a, b],
  );
});
