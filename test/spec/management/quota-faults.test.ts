import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseFault, hookedClient, throttled } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';

const PARTITIONED = { EnablePartitioning: 'true' };

const refused = () =>
  Object.assign(new Error('not authorized to perform: dynamodb:UpdateItem'), {
    name: 'AccessDeniedException',
    $metadata: { httpStatusCode: 400 },
  });

test('a queue that was created is not reported as failed because the write of its number is refused', async (t) => {
  let isRefused = false;
  const client = hookedClient(({ command, collection }) => {
    if (command === 'UpdateItemCommand' && collection?.endsWith('/counts') && isRefused) {
      throw refused();
    }
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  expectStatus(await broker.createQueue('a', PARTITIONED), 201);
  isRefused = true;
  expectStatus(await broker.createQueue('b', PARTITIONED), 201);
});

for (const [how, fault] of Object.entries({ throttled, 'without an answer': databaseFault })) {
  test(`a queue is created although the write of the number for its quota is ${how}`, async (t) => {
    const client = hookedClient(({ command, collection }) => {
      if (command === 'UpdateItemCommand' && collection?.endsWith('/counts')) throw fault();
    });
    t.after(() => client.destroy());
    const broker = await startBroker(t, { client });
    expectStatus(await broker.createQueue('q'), 201);
  });
}

test('a number that could not be written is counted by a later creation, not begun with its step', async (t) => {
  // Those of the first creation, and the two counts of the second, but not the step that it adds.
  let broken = 5;
  const client = hookedClient(({ command, collection }) => {
    if (command !== 'UpdateItemCommand' || !collection?.endsWith('/counts')) return;
    if (broken-- > 0) throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  const beside = await startBroker(t, { beside: broker });
  const items = new StoredItems(broker);
  t.after(() => items.close());
  expectStatus(await broker.createQueue('a', PARTITIONED), 201);
  expectStatus(await broker.createQueue('b', PARTITIONED), 201);
  expectStatus(await beside.createQueue('c', PARTITIONED), 201);
  const counts = await items.quotaCounts();
  assert.equal(counts?.['partitioned']?.N, '3');
});
