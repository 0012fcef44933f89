import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { ServiceBusClient } from '@azure/service-bus';
import { composeDirect } from '../../../connect/direct/open-direct.ts';
import { webSocketOf } from '../../../connect/in-process/web-socket.ts';
import type { ConnectOptions } from '../../../connect/index.ts';
import { ENGINE_REGION } from '../../../local/engine/engine-address.ts';
import { engineOfTests, TABLES } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName, receiveOne } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** Clients whose AMQP surface is in their own process, as docs/connect.md describes them. */

const PROGRAM = 'test/interop/connect/user-program.mjs';
/** For a process that starts on a busy machine. */
const PROGRAM_MS_MAX = 60_000;

async function namespaceOf(t: TestContext): Promise<TestNamespace> {
  const namespace = await startNamespace();
  t.after(() => namespace.stop());
  return namespace;
}

async function newQueue({ connectionString }: TestNamespace): Promise<string> {
  const name = newName('connected');
  await administrationOf(connectionString).createQueue(name);
  return name;
}

function directTo({ settings }: TestNamespace): ConnectOptions {
  const { url: endpoint, accessKey: accessKeyId } = engineOfTests();
  return {
    direct: {
      entitiesTable: TABLES.entities,
      messagesTable: TABLES.messages,
      namespace: settings.namespace,
      region: ENGINE_REGION,
      endpoint,
      credentials: { accessKeyId, secretAccessKey: 'none' },
    },
  };
}

/** Runs the program of a user, which ends by itself; returns what it received. */
async function runProgram(options: ConnectOptions, namespace: TestNamespace, queue: string) {
  const args = ['--import', 'tsx', PROGRAM, JSON.stringify(options), namespace.connectionString];
  const run = promisify(execFile)(process.execPath, [...args, queue], { timeout: PROGRAM_MS_MAX });
  const { stdout, stderr } = await run;
  assert.equal(stderr, '');
  return JSON.parse(stdout) as readonly number[];
}

const HUNDRED = Array.from({ length: 100 }, (_, i) => i);

test('a program uses the tables directly, keeps the order of its sends, and ends by itself', async (t) => {
  const namespace = await namespaceOf(t);
  const queue = await newQueue(namespace);
  assert.deepEqual(await runProgram(directTo(namespace), namespace, queue), HUNDRED);
});

test('what was begun is done after a drain, and receivers go on', async (t) => {
  const namespace = await namespaceOf(t);
  const { connectionString, settings } = namespace;
  const queue = await newQueue(namespace);
  const webSocket = webSocketOf(composeDirect(settings));
  const client = new ServiceBusClient(connectionString, { webSocketOptions: { webSocket } });
  t.after(async () => {
    await client.close();
    await webSocket.close();
  });
  const sender = client.createSender(queue);
  const receiver = client.createReceiver(queue);
  await sender.sendMessages({ body: 'first' });
  await receiver.completeMessage(await receiveOne(receiver));
  const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 20_000 });
  let isSent = false;
  const sending = sender.sendMessages({ body: 'begun' }).then(() => {
    isSent = true;
  });
  await webSocket.drain();
  assert.equal(isSent, true);
  await sending;
  const [message] = await waiting;
  assert.equal(message?.body, 'begun');
  let isCompleted = false;
  assert.ok(message);
  const completing = receiver.completeMessage(message).then(() => {
    isCompleted = true;
  });
  await webSocket.drain();
  assert.equal(isCompleted, true);
  await completing;
  await sender.sendMessages({ body: 'after' });
  assert.equal((await receiveOne(receiver)).body, 'after');
});

test('after it is closed, clients are disconnected, and nothing that they sent is lost', async (t) => {
  const namespace = await namespaceOf(t);
  const { connectionString, settings } = namespace;
  const queue = await newQueue(namespace);
  const webSocket = webSocketOf(composeDirect(settings));
  const options = { webSocketOptions: { webSocket }, retryOptions: { maxRetries: 0 } };
  const client = new ServiceBusClient(connectionString, options);
  const sender = client.createSender(queue);
  await sender.sendMessages({ body: 'kept' });
  await webSocket.close();
  await assert.rejects(sender.sendMessages({ body: 'late' }));
  await client.close();
  const other = new ServiceBusClient(connectionString);
  const receiver = other.createReceiver(queue);
  assert.deepEqual(
    (await receiver.peekMessages(10)).map(({ body }) => body),
    ['kept'],
  );
  await other.close();
});
