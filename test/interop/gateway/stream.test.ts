import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { GATEWAY_VARIABLES } from '../../../gateway/variables.ts';
import { ensureStream, ensureTables } from '../../../local/tables.ts';
import { VARIABLES } from '../../../shared/app/variables.ts';
import { startCountingRelay } from '../../support/counting-relay.ts';
import { engineClient, engineOfTests } from '../../support/start-broker.ts';
import { STREAMED_TABLES } from '../../support/streamed-tables.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { clientOf, plain } from './gateway-clients.ts';
import { type GatewayTasks, prepareTasks } from './gateway-task.ts';

const KEY = 'key-of-the-sidecar';

describe('the image of the gateway, with the stream of the messages table', () => {
  let tasks: GatewayTasks;
  before(async () => {
    tasks = await prepareTasks();
    const client = engineClient();
    await ensureTables(client, STREAMED_TABLES);
    await ensureStream(client, STREAMED_TABLES);
    client.destroy();
  });
  after(() => tasks.stop());

  const start = async (t: TestContext) => {
    const relay = await startCountingRelay(t, engineOfTests().url);
    const env = {
      [VARIABLES.messagesTable]: STREAMED_TABLES.messages,
      AWS_ENDPOINT_URL_DYNAMODB_STREAMS: relay.url,
    };
    return { relay, env };
  };

  test('a task reads the stream only while a receiver waits, and ends with 0', async (t) => {
    const { relay, env } = await start(t);
    const told = { ...env, [GATEWAY_VARIABLES.streamWakeUps]: 'true' };
    const [receiving, sending] = [await tasks.start({ env: told }), await tasks.start({ env })];
    await administrationOf(plain(sending.port)).createQueue('streamed');
    const [from, to] = [clientOf(sending.port), clientOf(receiving.port)];
    assert.equal(relay.count('GetRecords'), 0);
    const waiting = to.createReceiver('streamed').receiveMessages(1, { maxWaitTimeInMs: 60_000 });
    await relay.next('GetRecords');
    await from.createSender('streamed').sendMessages({ body: 'of another task' });
    assert.equal((await waiting)[0]?.body, 'of another task');
    await Promise.all([from.close(), to.close()]);
    receiving.child.kill('SIGTERM');
    assert.equal(await receiving.ended, 0);
    assert.deepEqual(
      receiving.lines().filter(({ level }) => level !== 'info' && level !== undefined),
      [],
    );
  });

  test('a sidecar reads the stream if its settings say so', async (t) => {
    const { relay, env } = await start(t);
    const direct = {
      entitiesTable: STREAMED_TABLES.entities,
      messagesTable: STREAMED_TABLES.messages,
      namespace: tasks.program.namespace,
      tier: 'Standard',
      stream: true,
    };
    const sidecar = tasks.launch({
      env: {
        ...env,
        DYNABUS_DIRECT: JSON.stringify(direct),
        DYNABUS_PROXY_PORT: '0',
        DYNABUS_PROXY_KEY: KEY,
      },
    });
    const { port } = await sidecar.untilSaid('Started');
    const task = await tasks.start({ env });
    await administrationOf(plain(task.port)).createQueue('beside');
    const client = new ServiceBusClient(
      `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`,
    );
    const waiting = client.createReceiver('beside').receiveMessages(1, { maxWaitTimeInMs: 60_000 });
    await relay.next('GetRecords');
    const from = clientOf(task.port);
    await from.createSender('beside').sendMessages({ body: 'of a task' });
    assert.equal((await waiting)[0]?.body, 'of a task');
    await Promise.all([from.close(), client.close()]);
    sidecar.child.kill('SIGTERM');
    assert.equal(await sidecar.ended, 0);
  });
});
