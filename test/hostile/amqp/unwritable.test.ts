import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { AmqpServer } from '../../../amqp/service/amqp-server.ts';
import { compose } from '../../../lambdas/http/compose.ts';
import { startServer } from '../../../local/server.ts';
import { LEASE_MS } from '../../../shared/app/leases.ts';
import { administrationOf } from '../../interop/administration/admin-clients.ts';
import { dataMessage, RawSession, sourceOf, targetOf } from '../../support/raw-session.ts';
import { engineClient, ROOT_KEY, TABLES, tablesExist } from '../../support/start-broker.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const DELIVERIES_MAX = 3;

/** A receiver with credit claims a returned message again at once, which must end after some deliveries. */
test('row 5: a message that cannot be encoded is claimed up to the maximum delivery count', async (t) => {
  const client = engineClient();
  await tablesExist();
  const composition = compose({
    client,
    tables: TABLES,
    namespace: `test-${randomBytes(6).toString('hex')}`,
    clock: { now: () => Date.now() },
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    scheduler: new VirtualTime(),
    receiveWaitMsMax: 0,
  });
  const faults: unknown[] = [];
  const { dependencies } = composition;
  const receive: typeof dependencies.broker.receive = async (...asked) =>
    (await dependencies.broker.receive(...asked)).map((received) => ({
      ...received,
      message: { ...received.message, amqp: Buffer.of(0xff) },
    }));
  const reportFault = (fault: unknown) => faults.push(fault);
  const gateway = new AmqpServer({
    ...dependencies,
    broker: { ...dependencies.broker, receive },
    reportFault,
  });
  const { app } = composition;
  const server = await startServer({
    app,
    memory: dependencies.memory,
    amqp: gateway,
    host: '127.0.0.1',
    port: 0,
  });
  t.after(async () => {
    const closed = server.close();
    await gateway.close();
    await composition.close();
    await closed;
    client.destroy();
  });
  const connection = `Endpoint=sb://localhost:${server.port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${ROOT_KEY};UseDevelopmentEmulator=true;`;
  const admin = administrationOf(connection);
  await admin.createQueue('q', { maxDeliveryCount: DELIVERIES_MAX });
  const session = RawSession.root(server.port);
  t.after(() => session.raw.destroy());
  await session.send(await session.sender(targetOf('q')), dataMessage('m'));
  const { handle } = await session.receiver(sourceOf('q'));
  session.credit(handle, 10);
  const dead = async () => (await admin.getQueueRuntimeProperties('q')).deadLetterMessageCount;
  while ((await dead()) === 0 && faults.length <= DELIVERIES_MAX);
  assert.equal(faults.length, DELIVERIES_MAX);
  assert.equal(await dead(), 1);
});
