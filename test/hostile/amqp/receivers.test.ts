import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { administrationOf } from '../../interop/administration/admin-clients.ts';
import { newName } from '../../interop/messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../../interop/start-namespace.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { dataMessage, dataOf, RawSession, sourceOf, targetOf } from '../../support/raw-session.ts';

const KEY_NAME = 'listener';
const [KEY, OTHER_KEY] = ['first-key', 'other-key'].map((text) =>
  Buffer.from(text.padEnd(32, '=')).toString('base64'),
) as [string, string];
const MINUTE = 60_000;

describe('AMQP receivers whose right is revoked', () => {
  let namespace: TestNamespace;
  const clock = new ManualClock();
  before(async () => {
    namespace = await startNamespace({ clock });
  });
  after(() => namespace.stop());

  const admin = () => administrationOf(namespace.connectionString);

  /** A queue with a rule, and a receiver that waits on it with a token of one minute. */
  const start = async (modes: { readonly senderSettleMode?: number } = {}) => {
    const queue = newName('watched');
    const rule = { keyName: KEY_NAME, primaryKey: KEY, secondaryKey: KEY };
    await admin().createQueue(queue, {
      authorizationRules: [{ claimType: 'SharedAccessKey', accessRights: ['Listen'], ...rule }],
    });
    const receiver = new RawSession(RawAmqp.opened(namespace.port, 'ANONYMOUS'));
    const audience = `sb://localhost/${queue}`;
    const expiresAt = clock.now() + MINUTE;
    const token = createSasToken({ audience, keyName: KEY_NAME, key: KEY, expiresAt });
    assert.equal(await receiver.putToken(token, audience), 202);
    const { handle } = await receiver.receiver(sourceOf(queue), modes);
    receiver.credit(handle, 100);
    const sender = RawSession.root(namespace.port);
    const link = await sender.sender(targetOf(queue));
    const send = (body: string) => sender.send(link, dataMessage(body));
    await send('early');
    assert.equal(dataOf((await receiver.raw.hear('transfer')).payload), 'early');
    return { queue, receiver, send };
  };

  for (const [mode, senderSettleMode] of [
    ['peek-lock', 0],
    ['receive-and-delete', 1],
  ] as const) {
    test(`row 12: an expired token receives nothing more in ${mode}`, async () => {
      const { queue, receiver, send } = await start({ senderSettleMode });
      clock.advance({ ms: MINUTE });
      await send('late');
      const said = await receiver.raw.hear('transfer', 'detach');
      assert.equal(said.kind, 'detach');
      assert.equal(said.kind === 'detach' && said.error?.condition, 'amqp:unauthorized-access');
      const other = RawSession.root(namespace.port);
      const { handle } = await other.receiver(sourceOf(queue));
      other.credit(handle, 10);
      // The lock of the early one has expired, too.
      while (dataOf((await other.raw.hear('transfer')).payload) !== 'late');
      receiver.raw.destroy();
      other.raw.destroy();
    });
  }

  test('row 12: a changed key ends the links of its tokens', async () => {
    const { queue, receiver, send } = await start();
    const description = await admin().getQueue(queue);
    const [rule] = description.authorizationRules ?? [];
    assert.ok(rule);
    const changed = { ...rule, primaryKey: OTHER_KEY, secondaryKey: OTHER_KEY };
    await admin().updateQueue({ ...description, authorizationRules: [changed] });
    await send('late');
    assert.equal((await receiver.raw.hear('transfer', 'detach')).kind, 'detach');
    receiver.raw.destroy();
  });
});
