import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';

const BATCH = 4500;
const BURST = 4 * BATCH;
const TAKEN = 10_000_000;
/** The most that an estimate may be wrong in this test, as a share. */
const ERROR_MAX = 0.25;

test('two bursts of scheduled messages are estimated although ten million others were sent between them', async (t) => {
  const broker = await startBroker(t);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  expectStatus(await broker.createQueue('q'), 201);
  const schedule = async () => {
    for (let left = BURST; left > 0; left -= BATCH) {
      const at = { ScheduledEnqueueTimeUtc: '2030-01-01T00:00:00Z' };
      const messages = Array.from({ length: BATCH }, () => ({ Body: 'x', BrokerProperties: at }));
      expectStatus(await broker.sendBatch('q', messages), 201);
    }
  };
  await schedule();
  // Messages that were sent and completed leave nothing but the numbers that they took.
  await items.takeNumbers(await items.idOf('q'), TAKEN);
  await schedule();
  const { scheduled } = await broker.runtimeProperties('q');
  const share = Math.abs(scheduled - 2 * BURST) / (2 * BURST);
  assert.ok(share <= ERROR_MAX, `${scheduled} instead of ${2 * BURST}`);
});
