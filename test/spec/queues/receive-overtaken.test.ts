import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';

test('a delayed receive returns nothing if another receiver has completed its messages meanwhile', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here, client: pauses.client });
  expectStatus(await here.createQueue('q', { LockDuration: 'PT5S' }), 201);
  expectStatus(await here.send('q', randomBytes(5000).toString('base64')), 201);

  const pause = pauses.pauseNext(({ command }) => command === 'BatchGetItemCommand');
  const late = there.peekLockMany('q', 10);
  await pause.reached;
  here.clock.advance({ seconds: 5 });
  const message = await here.peekLock('q');
  assert.equal(message?.broker.DeliveryCount, 2);
  assert.equal(await here.complete(message), 200);
  await here.units(async () => {});
  pause.goOn();
  assert.deepEqual(await late, []);
});
