import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNamespace } from '../../../local/testing/testing.ts';
import { NamespaceClient } from '../local-namespaces.ts';

test('a function is stopped also when its queue or its consumer is gone', async (t) => {
  const bus = await startNamespace({ queues: ['declared'] });
  t.after(() => bus.stop());
  const { SharedAccessKey: key } = Object.fromEntries(
    bus.connectionString.split(';').map((part) => part.split(/=(.*)/s)),
  );
  const http = new NamespaceClient(bus.url, bus.name, key);
  await http.createQueue('undeclared');
  await http.createQueue('deleted');
  const settings = { name: 'worker' };
  const first = await bus.consume('undeclared', () => {}, settings);
  const second = await bus.consume('deleted', () => {}, settings);
  const third = await bus.consume('declared', () => {}, settings);
  // A reset deletes the queues that no description declares.
  const gone = await http.request('DELETE', 'deleted');
  assert.equal(gone.status, 200, await gone.text());
  const removed = await http.request('DELETE', 'declared/consumers/worker');
  assert.equal(removed.status, 200, await removed.text());
  await Promise.all([second.stop(), third.stop()]);
  await bus.reset();
  await first.stop();
});
