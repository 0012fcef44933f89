import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { topLevelKey } from '../../../shared/storage/schema/entity-keys.ts';
import { engineClient, startBroker, TABLES } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createTopic } from '../../support/topic-entities.ts';

test('a queue is no topic although a process of an earlier version deleted a topic of its name', async (t) => {
  const broker = await startBroker(t);
  for (const name of ['t', 'u']) await createTopic(broker, name);
  await broker.sweep();
  const client = engineClient();
  t.after(() => client.destroy());
  // Earlier versions leave the topic in the list.
  const { pk, sk } = topLevelKey(broker.namespace, 't');
  await client.send(
    new DeleteItemCommand({ TableName: TABLES.entities, Key: { pk: { S: pk }, sk: { S: sk } } }),
  );
  expectStatus(await broker.createQueue('t'), 201);
  const { text } = await broker.request('GET', '$Resources/Topics');
  assert.deepEqual(
    [...text.matchAll(/<entry.*?<title type="text">(.*?)</gs)].map(([, title]) => title),
    ['u'],
  );
});
