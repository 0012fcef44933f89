import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../../../amqp/wire/encode.ts';
import { binary, described, list, NULL, str } from '../../../amqp/wire/value.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { sessionSource, targetOf } from '../../support/raw-session.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startNamespace } from '../start-namespace.ts';

/** Less than the time limit for work that does not end. */
const STOP_MS_MAX = 4000;
const BODY = encode(described(0x75n, binary(Buffer.from('body'))));

/** A sender link of a namespace, and functions to send on it. */
async function startSender() {
  const namespace = await startNamespace();
  await administrationOf(namespace.connectionString).createQueue('q');
  const raw = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
  raw.say({
    kind: 'attach',
    name: 'sender',
    handle: 0,
    role: 'sender',
    source: described(0x28n, list([str('here')])),
    target: described(0x29n, list([str('q')])),
    initialDeliveryCount: 0,
  });
  await raw.hear('flow');
  const send = (deliveryId: number) => {
    const deliveryTag = Buffer.from([deliveryId]);
    raw.say({ kind: 'transfer', handle: 0, deliveryId, deliveryTag }, 0, BODY);
  };
  return { namespace, raw, send };
}

test('a sender during a shutdown gets its outcome, loses its credit, and is then disconnected', async () => {
  const { namespace, raw, send } = await startSender();
  send(0);
  assert.deepEqual((await raw.hear('disposition')).state, { kind: 'accepted' });

  const stopped = namespace.stop();
  send(1);
  send(2);

  const flow = await raw.hear('flow', 'disposition', 'close');
  assert.ok(flow.kind === 'flow');
  // Counted from the messages that arrived: with none in transit the sender has exactly no credit.
  assert.deepEqual([flow.deliveryCount, flow.linkCredit], [3, 0]);
  const told = new Set<number>();
  while (told.size < 2) {
    const outcome = await raw.hear('disposition', 'close');
    assert.ok(outcome.kind === 'disposition');
    assert.deepEqual(outcome.state, { kind: 'accepted' });
    for (let id = outcome.first; id <= (outcome.last ?? outcome.first); id++) told.add(id);
  }
  const { error } = await raw.hear('close');
  assert.equal(error?.condition, 'amqp:connection:forced');
  raw.destroy();
  await stopped;
});

test('a link that is opened during a shutdown loses its credit too', async () => {
  const { namespace, raw, send } = await startSender();
  const stopped = namespace.stop();
  raw.say({ kind: 'detach', handle: 0, closed: true });
  await raw.hear('detach');
  raw.say({
    kind: 'attach',
    name: 'again',
    handle: 0,
    role: 'sender',
    source: described(0x28n, list([str('here')])),
    target: described(0x29n, list([str('q')])),
    initialDeliveryCount: 0,
  });
  assert.ok(((await raw.hear('flow')).linkCredit ?? 0) > 0);
  send(0);
  assert.equal((await raw.hear('flow', 'disposition')).kind, 'flow');
  assert.deepEqual((await raw.hear('disposition')).state, { kind: 'accepted' });
  assert.equal((await raw.hear('close')).error?.condition, 'amqp:connection:forced');
  raw.destroy();
  await stopped;
});

test('clients that wait for a session do not delay a shutdown', async () => {
  const namespace = await startNamespace();
  const admin = administrationOf(namespace.connectionString);
  await admin.createQueue('in-sessions', { requiresSession: true });
  const raw = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
  raw.say({
    kind: 'attach',
    name: 'next',
    handle: 0,
    role: 'receiver',
    source: sessionSource('in-sessions', NULL),
    target: targetOf('here'),
  });
  await raw.hear('begin');

  const stoppedAt = performance.now();
  const stopped = namespace.stop();
  // After an error, a client would retry at the service that is stopping.
  assert.equal((await raw.hear('attach', 'close')).kind, 'close');
  raw.destroy();
  await stopped;
  assert.ok(performance.now() - stoppedAt < STOP_MS_MAX);
});
