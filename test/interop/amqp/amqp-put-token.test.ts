import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import {
  described,
  fieldsOf,
  list,
  mapOf,
  NULL,
  numberOf,
  str,
  textOf,
} from '../../../amqp/wire/value.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const terminus = (code: bigint, address: string) => described(code, list([str(address)]));

describe('tokens put at $cbs', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace();
  });
  after(() => namespace.stop());

  /** Puts a token as the official Python client does: it names no reply link. */
  const bring = async (type: string, token: string) => {
    const raw = RawAmqp.open(namespace.port);
    raw.begin();
    for (const [handle, role] of [
      [0, 'sender'],
      [1, 'receiver'],
    ] as const) {
      const [source, target] = [terminus(0x28n, '$cbs'), terminus(0x29n, '$cbs')];
      const name = `link-${handle}`;
      raw.say({ kind: 'attach', name, handle, role, source, target, initialDeliveryCount: 0 });
    }
    const windows = { incomingWindow: 99, nextOutgoingId: 0, outgoingWindow: 99 };
    raw.say({ kind: 'flow', ...windows, handle: 1, deliveryCount: 0, linkCredit: 9 });
    const request = writeSections({
      properties: list([str('m')]),
      applicationProperties: mapOf({
        operation: str('put-token'),
        type: str(type),
        name: str('sb://localhost/'),
      }),
      body: [described(SECTION.value, token === '' ? NULL : str(token))],
    });
    await raw.hear('flow');
    const deliveryTag = Buffer.from([0]);
    raw.say({ kind: 'transfer', handle: 0, deliveryId: 0, deliveryTag }, 0, request);
    const { payload = new Uint8Array() } = await raw.hear('transfer');
    raw.destroy();
    const fields = fieldsOf(readSections(payload).applicationProperties);
    return [numberOf(fields.get('status-code')), textOf(fields.get('error-condition'))];
  };

  const signature = () => {
    const keyName = 'RootManageSharedAccessKey';
    const expiresAt = Date.now() + 60_000;
    return createSasToken({ audience: 'sb://localhost/', keyName, key: ROOT_KEY, expiresAt });
  };

  test('a SAS token is accepted under its own type and as a web token', async () => {
    for (const type of ['servicebus.windows.net:sastoken', 'jwt']) {
      assert.deepEqual(await bring(type, signature()), [202, undefined], type);
    }
  });

  test('other tokens are refused', async () => {
    assert.deepEqual(await bring('jwt', 'eyJhbGciOiJub25lIn0.e30.'), [501, 'amqp:not-implemented']);
    assert.deepEqual(await bring('kerberos', signature()), [501, 'amqp:not-implemented']);
    assert.deepEqual(await bring('servicebus.windows.net:sastoken', ''), [
      401,
      'amqp:unauthorized-access',
    ]);
  });
});
