import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { described, list, str } from '../../../amqp/wire/value.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const terminus = (code: bigint, address: string) => described(code, list([str(address)]));

describe('names of links', () => {
  let namespace: TestNamespace;
  let raw: RawAmqp;
  before(async () => {
    namespace = await startNamespace();
    await administrationOf(namespace.connectionString).createQueue('q');
    raw = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
  });
  after(async () => {
    raw.destroy();
    await namespace.stop();
  });

  const attach = (handle: number, role: 'sender' | 'receiver', name: string) => {
    const [source, target] = [terminus(0x28n, 'q'), terminus(0x29n, 'q')];
    raw.say({ kind: 'attach', name, handle, role, source, target, initialDeliveryCount: 0 });
    return raw.hear('attach', 'detach');
  };

  test('a link steals the name of an older one, which is detached', async () => {
    await attach(0, 'receiver', 'same');
    const detach = await attach(1, 'receiver', 'same');
    assert.ok(detach.kind === 'detach');
    assert.deepEqual([detach.handle, detach.error?.condition], [0, 'amqp:link:stolen']);
    assert.equal((await raw.hear('attach')).handle, 1);
  });

  test('a sender and a receiver may share a name', async () => {
    await attach(2, 'receiver', 'shared');
    const second = await attach(3, 'sender', 'shared');
    assert.deepEqual([second.kind, second.handle], ['attach', 3]);
  });
});
