import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamespaceDescription } from '../../local/config/description.ts';
import { lockAndSettle } from '../spec/queues/queue.ts';
import { faultsOf, startNamespace } from './configured-namespace.ts';

/** Circles of forwarding, which need a second step, and shared access policies, which a configuration may leave out. */

test('forwards in circles are set once all queues exist, and messages go round', async (t) => {
  const { apply, broker, management } = await startNamespace(t);
  const description: NamespaceDescription = {
    queues: [
      { name: 'orders', forwardDeadLetteredMessagesTo: 'retries', maxDeliveryCount: 1 },
      { name: 'retries', forwardTo: 'pauses' },
      { name: 'pauses', forwardTo: 'ORDERS', forwardDeadLetteredMessagesTo: 'own' },
      { name: 'own', forwardDeadLetteredMessagesTo: 'sb://here/own' },
      'last',
    ],
  };
  assert.deepEqual(await apply(description), { created: 5, updated: 0, unchanged: 0 });
  assert.deepEqual(await apply(description), { created: 0, updated: 0, unchanged: 5 });
  await broker.send('orders', 'again');
  for (let round = 0; round < 2; round++) {
    assert.equal((await lockAndSettle(broker, 'deadLetter', {}, 'orders')).body, 'again');
  }
  const own = await management.get('own', 'queue');
  assert.equal(
    own.description.kind === 'queue' && own.description.forwardDeadLetteredMessagesTo,
    'own',
  );
});

test('a circle whose queues exist already is closed, and a queue of one that is refused is named', async (t) => {
  const { apply, management } = await startNamespace(t);
  await apply({ queues: ['a', { name: 'b', requiresSession: true }] });
  const forwardOf = async (name: string) => {
    const { description } = await management.get(name, 'queue');
    return description.kind === 'queue' && description.forwardDeadLetteredMessagesTo;
  };
  const circle = (first: string, second: string, settings = {}): NamespaceDescription => ({
    queues: [
      { name: first, forwardDeadLetteredMessagesTo: second },
      { name: second, forwardDeadLetteredMessagesTo: first, ...settings },
    ],
  });
  assert.deepEqual(await apply(circle('a', 'b', { requiresSession: true })), {
    created: 0,
    updated: 2,
    unchanged: 0,
  });
  assert.deepEqual([await forwardOf('a'), await forwardOf('b')], ['b', 'a']);
  const faults = await faultsOf(apply(circle('c', 'b')));
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? '', /requiresSession/);
});

test('shared access policies that a configuration does not mention stay', async (t) => {
  const { apply, management } = await startNamespace(t);
  const authorizationRules = [{ keyName: 'k', accessRights: ['Send' as const] }];
  await apply({ queues: { q: { authorizationRules } } });
  const policies = async () => {
    const { description } = await management.get('q', 'queue');
    return description.kind === 'queue' ? description.authorizationRules : [];
  };
  const before = await policies();
  assert.equal(before.length, 1);
  assert.equal((await apply({ queues: ['q'] })).unchanged, 1);
  assert.equal((await apply({ queues: { q: { maxDeliveryCount: 3 } } })).updated, 1);
  assert.deepEqual(await policies(), before);
  assert.equal((await apply({ queues: { q: { authorizationRules: [] } } })).updated, 1);
  assert.deepEqual(await policies(), []);
});
