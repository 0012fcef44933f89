import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { administrationOf } from '../administration/admin-clients.ts';
import { receiveOne } from '../messaging/bus-entities.ts';
import { directSettings } from '../proxy/proxy-process.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { type GatewayTasks, prepareTasks } from './gateway-task.ts';

const KEY = 'key-of-the-sidecar';

describe('the image of the gateway as a sidecar', () => {
  let namespace: TestNamespace;
  let tasks: GatewayTasks;
  before(async () => {
    [namespace, tasks] = await Promise.all([startNamespace(), prepareTasks()]);
    await administrationOf(namespace.connectionString).createQueue('orders');
  });
  after(async () => {
    tasks.stop();
    await namespace.stop();
  });

  const launch = (env: Readonly<Record<string, string>>) =>
    tasks.launch({
      env: { DYNABUS_DIRECT: directSettings(namespace), DYNABUS_PROXY_PORT: '0', ...env },
    });

  test('it serves clients with its own key, logs JSON without the key, and ends with 0', async () => {
    const task = launch({ DYNABUS_PROXY_KEY: KEY });
    const { port } = await task.untilSaid('Started');
    const client = new ServiceBusClient(
      `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`,
    );
    await client.createSender('orders').sendMessages({ body: 'beside' });
    const receiver = client.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
    assert.equal((await receiveOne(receiver)).body, 'beside');
    await client.close();
    assert.equal((await fetch(`http://127.0.0.1:${port}/$health`)).status, 200);
    task.child.kill('SIGTERM');
    assert.equal(await task.ended, 0);
    assert.deepEqual(
      task.lines().map(({ level, message }) => [level, message]),
      ['Started', 'Draining', 'Stopped'].map((message) => ['info', message]),
    );
    assert.doesNotMatch(JSON.stringify(task.lines()), new RegExp(KEY));
  });

  test('what is wrong in its environment ends it with 1 and one line that says so', async () => {
    const wrong = [
      [{}, /^ProxySettingsError: The variable DYNABUS_PROXY_KEY is not set: /],
      [
        { DYNABUS_PROXY_KEY: 'SAS_KEY_VALUE' },
        / is public, .* choose another in DYNABUS_PROXY_KEY\./,
      ],
      [
        { DYNABUS_PROXY_KEY: KEY, DYNABUS_PROXY_HOST: '0.0.0.0' },
        / or DYNABUS_PROXY_INSECURE_HOST where nobody else can listen /,
      ],
      [
        { DYNABUS_PROXY_KEY: KEY, DYNABUS_PROXY_INSECURE_HOST: '1' },
        /: DYNABUS_PROXY_INSECURE_HOST takes true or false, not '1'\./,
      ],
      [
        { DYNABUS_PROXY_KEY: KEY, DYNABUS_DIRECT: '{}' },
        /^DirectOptionsError: The variable DYNABUS_DIRECT has no entitiesTable, messagesTable and namespace: /,
      ],
    ] as const;
    for (const [env, says] of wrong) {
      const task = launch(env);
      assert.equal(await task.ended, 1);
      const lines = task.lines();
      assert.equal(lines.length, 1, JSON.stringify(lines));
      assert.match(String(lines[0]?.['fault']), says);
    }
  });
});
