import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startPauses } from '../support/pause-client.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';

/**
 * A process is frozen while it dead-letters a message, and the queue is purged meanwhile. The sweep has read the block
 * when the process goes on, and deletes the payload, which the dead letter has taken over.
 */

test('a message that was dead-lettered while its queue was purged is a dead letter that can be received, or is gone', async (t) => {
  const frozen = startPauses();
  t.after(() => frozen.client.destroy());
  const sweeping = startPauses();
  t.after(() => sweeping.client.destroy());
  const broker = await startBroker(t);
  const slow = await startBroker(t, { beside: broker, client: frozen.client });
  const sweeper = await startBroker(t, { beside: broker, client: sweeping.client });
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT1M' }), 201);
  expectStatus(await broker.send('q', randomBytes(3000).toString('hex')), 201);
  const message = await slow.peekLock('q');
  assert.ok(message !== undefined);
  const moving = frozen.pauseNext(({ command }) => command === 'TransactWriteItemsCommand');
  const settled = slow.settle('q', [
    { lockToken: message.broker.LockToken, outcome: 'deadLetter' },
  ]);
  await moving.reached;
  await broker.purge('q');
  broker.clock.advance({ seconds: 15 });
  // It has read the block.
  const deleting = sweeping.pauseNext(
    ({ command, collection }) => command === 'DeleteItemCommand' && collection.includes('.0m'),
  );
  const swept = sweeper.sweep();
  await deleting.reached;
  moving.goOn();
  const [outcome] = await settled;
  deleting.goOn();
  await swept;
  const { deadLetter } = await broker.runtimeProperties('q');
  const received = await broker.peekLock('q/$deadletterqueue');
  assert.equal(received === undefined ? 0 : 1, deadLetter, `settled: ${outcome?.settled}`);
});
