import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyMessage, nameAgain } from '../../support/copied-entities.ts';
import { readRuntimeProperties } from '../../support/runtime-properties.ts';
import { engineClient, startBroker, TABLES } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';

const MESSAGES = 8000;
const QUEUES = 20;

test('a page with many queues of singly sent messages reads little more than a few of them', async (t) => {
  const broker = await startBroker(t);
  const client = engineClient();
  const items = new StoredItems(broker);
  t.after(() => {
    client.destroy();
    items.close();
  });
  expectStatus(await broker.createQueue('q00'), 201);
  expectStatus(await broker.send('q00', 'x'), 201);
  const id = await items.idOf('q00');
  await copyMessage(client, id, MESSAGES - 1, TABLES);
  await items.takeNumbers(id, MESSAGES - 1);
  const one = await broker.units(() => broker.request('GET', 'q00'));
  const names = Array.from({ length: QUEUES }, (_, i) => `q${String(i).padStart(2, '0')}`);
  await nameAgain(client, broker.namespace, 'q00', names.slice(1), TABLES);

  let entries: readonly string[] = [];
  const all = await broker.units(async () => {
    const { text } = await broker.request('GET', '$Resources/Queues');
    entries = text.match(/<entry.*?<\/entry>/gs) ?? [];
  });
  t.diagnostic(`${one.read} read units for one queue, ${all.read} for ${QUEUES}`);
  assert.ok(all.read <= 10 * one.read, `${all.read}`);
  assert.equal(entries.length, QUEUES);
  const counted = entries.map((entry) => ({
    active: readRuntimeProperties(entry).active,
    isEstimate: entry.includes('term="estimated"'),
  }));
  for (const { active, isEstimate } of counted) {
    const error = Math.abs(active - MESSAGES) / MESSAGES;
    assert.ok(isEstimate ? error <= 0.05 : error === 0, `${active}`);
  }
  // Those in front are counted one by one, as far as the budget of a page goes.
  const exact = counted.filter(({ isEstimate }) => !isEstimate).length;
  assert.ok(exact >= 3 && exact <= 8, `${exact}`);
});
