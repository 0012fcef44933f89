import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createTopic } from '../../support/topic-entities.ts';

test('a queue is no topic although a process of an earlier version deleted a topic of its name', async (t) => {
  const broker = await startBroker(t);
  for (const name of ['t', 'u']) await createTopic(broker, name);
  await broker.sweep();
  const items = new StoredItems(broker);
  t.after(() => items.close());
  await items.removeTopic('t');
  expectStatus(await broker.createQueue('t'), 201);
  const { text } = await broker.request('GET', '$Resources/Topics');
  assert.deepEqual(
    [...text.matchAll(/<entry.*?<title type="text">(.*?)</gs)].map(([, title]) => title),
    ['u'],
  );
});
