import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startClientProxy } from '../../../proxy/client-proxy.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { RawSession, sourceOf } from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startOverHttp } from '../connect/over-http.ts';
import { newName } from '../messaging/bus-entities.ts';

const KEY = 'own-key-of-the-proxy';

async function startProxy(t: TestContext) {
  const { namespace, upstream, queue } = await startOverHttp(t);
  const proxy = await startClientProxy({ upstream, key: KEY, host: '127.0.0.1', port: 0 });
  t.after(() => proxy.stop());
  const connect = () => RawAmqp.authenticated(proxy.port, 'RootManageSharedAccessKey', KEY);
  const admin = administrationOf(namespace.connectionString);
  return { admin, queue, connect, port: namespace.port };
}

test('a namespace, and a proxy over HTTP, refuse a receiver at once where nothing is handed out: the client for .NET does not hear of it later', async (t) => {
  const { admin, queue, connect, port } = await startProxy(t);
  const [disabled, sendOnly, forwarding] = [newName('off'), newName('send'), newName('on')];
  await admin.createQueue(disabled, { status: 'Disabled' });
  await admin.createQueue(sendOnly, { status: 'ReceiveDisabled' });
  const forwards = { forwardTo: queue, forwardDeadLetteredMessagesTo: queue };
  await admin.createQueue(forwarding, forwards);
  for (const [address, condition] of [
    [disabled, 'com.microsoft:entity-disabled'],
    [sendOnly, 'com.microsoft:entity-disabled'],
    [forwarding, 'amqp:not-allowed'],
    [`${forwarding}/$DeadLetterQueue`, 'amqp:not-allowed'],
  ] as const) {
    for (const session of [RawSession.root(port), new RawSession(connect())]) {
      assert.equal((await session.receiver(sourceOf(address))).source, undefined, address);
      assert.equal((await session.raw.hear('detach')).error?.condition, condition, address);
      session.raw.destroy();
    }
  }
});

test('a receiver of a queue that was disabled meanwhile is ended, and the next one refused', async (t) => {
  const { admin, queue, connect } = await startProxy(t);
  const raw = connect();
  const session = new RawSession(raw);
  const { handle } = await session.receiver(sourceOf(queue));
  await admin.updateQueue({ ...(await admin.getQueue(queue)), status: 'ReceiveDisabled' });
  session.credit(handle, 1);
  const disabled = 'com.microsoft:entity-disabled';
  assert.equal((await raw.hear('detach')).error?.condition, disabled);
  assert.equal((await session.receiver(sourceOf(queue))).source, undefined);
  assert.equal((await raw.hear('detach')).error?.condition, disabled);
  raw.destroy();
});
