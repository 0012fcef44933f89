import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startClientProxy } from '../../../proxy/client-proxy.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { RawSession, sourceOf } from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startOverHttp } from '../connect/over-http.ts';
import { newName } from '../messaging/bus-entities.ts';

const KEY = 'own-key-of-the-proxy';

test('a proxy over HTTP refuses a receiver at once where nothing is handed out', async (t) => {
  const over = await startOverHttp(t);
  const { namespace, upstream, queue } = over;
  const proxy = await startClientProxy({ upstream, key: KEY, host: '127.0.0.1', port: 0 });
  t.after(() => proxy.stop());
  const admin = administrationOf(namespace.connectionString);
  const [disabled, forwarding] = [newName('off'), newName('on')];
  await admin.createQueue(disabled, { status: 'Disabled' });
  const forwards = { forwardTo: queue, forwardDeadLetteredMessagesTo: queue };
  await admin.createQueue(forwarding, forwards);
  for (const [address, condition] of [
    [disabled, 'com.microsoft:entity-disabled'],
    [forwarding, 'amqp:not-allowed'],
    [`${forwarding}/$DeadLetterQueue`, 'amqp:not-allowed'],
  ] as const) {
    const raw = RawAmqp.authenticated(proxy.port, 'RootManageSharedAccessKey', KEY);
    assert.equal(
      (await new RawSession(raw).receiver(sourceOf(address))).source,
      undefined,
      address,
    );
    assert.equal((await raw.hear('detach')).error?.condition, condition);
    raw.destroy();
  }
});
