import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BODY, FILL } from '../../support/full-entity.ts';
import { SMALL_ENTITIES } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received } from '../../support/test-broker.ts';
import { createPartitioned, partitionOf, sendKeyed } from './partitioned.ts';

test('#P5 #P12 the size counts all partitions: a full queue refuses sends to each, in every process', async (t) => {
  const options = { tier: 'Premium', limits: SMALL_ENTITIES } as const;
  const here = await startBroker(t, options);
  const there = await startBroker(t, { ...options, beside: here });
  const settings = { MaxSizeInMegabytes: '1024' };
  expectStatus(await createPartitioned(here, 'p', settings), 201);
  // The elements of the description have a fixed order.
  const large = { EnablePartitioning: 'true', MaxMessageSizeInKilobytes: '102400' };
  expectStatus(await here.updateQueue('p', { ...settings, ...large }), 200);
  for (let i = 0; i < FILL; i++) expectStatus(await here.send('p', BODY), 201);
  const refused = await here.send('p', BODY);
  expectStatus(refused, 403);
  assert.equal(refused.headers.get('x-dynabus-error'), 'QuotaExceeded');

  // The other process knows the size of one partition only, from its own send.
  await sendKeyed(there, 'small', { PartitionKey: 'a' });
  expectStatus(await there.send('p', BODY, { PartitionKey: 'a' }), 403);

  // Completing a message makes room, whatever its partition.
  for (const partition of [1, 0]) {
    // The search may first lock all messages of the other partition.
    const others: Received[] = [];
    for (;;) {
      const message = await there.peekLock('p');
      assert.ok(message, 'each partition has several messages');
      if (message.body.length < BODY.length || partitionOf(message) !== partition) {
        others.push(message);
        continue;
      }
      assert.equal(await there.complete(message), 200);
      break;
    }
    for (const other of others) assert.equal(await there.abandon(other), 200);
    expectStatus(await there.send('p', BODY, { PartitionKey: 'a' }), 201);
    expectStatus(await there.send('p', BODY, { PartitionKey: 'a' }), 403);
  }
});
