import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { createWebSocket } from '../../../connect/index.ts';
import { ENGINE_REGION } from '../../../local/engine/engine-address.ts';
import { engineOfTests, TABLES } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName, receiveOne } from '../messaging/bus-entities.ts';
import { startNamespace } from '../start-namespace.ts';

/** What clients of the tables learn when AWS refuses the credentials of their process. */

/** DynamoDB, which refuses requests while `refusal` names an error. */
async function startDynamo(t: TestContext) {
  const dynamo = { refusal: undefined as string | undefined, refused: 0, endpoint: '' };
  const { url } = engineOfTests();
  const server = createServer(async (incoming, answer) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (dynamo.refusal !== undefined) {
      dynamo.refused++;
      const type = `com.amazon.coral.service#${dynamo.refusal}`;
      answer.writeHead(400, { 'Content-Type': 'application/x-amz-json-1.0' });
      answer.end(JSON.stringify({ __type: type, message: 'So says AWS.' }));
      return;
    }
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).flatMap(([name, value]) =>
        name === 'connection' || name === 'host' ? [] : [[name, String(value)]],
      ),
    );
    const response = await fetch(url, { method: 'POST', headers, body: Buffer.concat(chunks) });
    answer.writeHead(response.status, { 'Content-Type': 'application/x-amz-json-1.0' });
    answer.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  dynamo.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return dynamo;
}

async function connected(t: TestContext) {
  const namespace = await startNamespace();
  const dynamo = await startDynamo(t);
  const queue = newName('credentials');
  await administrationOf(namespace.connectionString).createQueue(queue);
  const webSocket = createWebSocket({
    direct: {
      entitiesTable: TABLES.entities,
      messagesTable: TABLES.messages,
      namespace: namespace.settings.namespace,
      region: ENGINE_REGION,
      endpoint: dynamo.endpoint,
      credentials: { accessKeyId: engineOfTests().accessKey, secretAccessKey: 'none' },
    },
  });
  const connect = (maxRetries: number) =>
    new ServiceBusClient(namespace.connectionString, {
      webSocketOptions: { webSocket },
      retryOptions: { maxRetries, retryDelayInMs: 10, maxRetryDelayInMs: 50 },
    });
  const clients = { impatient: connect(0), patient: connect(100) };
  t.after(async () => {
    await Promise.all([clients.impatient.close(), clients.patient.close()]);
    await webSocket.close();
    await namespace.stop();
  });
  return { ...clients, dynamo, queue };
}

test('while its credentials have expired, a client is told so, and it goes on with new ones', async (t) => {
  const stop = new AbortController();
  // Hooks run in the order in which they were added: a receive that waits would open its link again after the close.
  t.after(() => stop.abort());
  const { impatient, patient, dynamo, queue } = await connected(t);
  const sender = patient.createSender(queue);
  await sender.sendMessages({ body: 'before' });
  const receiver = patient.createReceiver(queue);
  await receiver.completeMessage(await receiveOne(receiver));
  const other = impatient.createSender(queue);
  await other.createMessageBatch();
  const waiting = receiver.receiveMessages(1, {
    maxWaitTimeInMs: 60_000,
    abortSignal: stop.signal,
  });
  waiting.catch(() => {});
  dynamo.refusal = 'ExpiredTokenException';
  await assert.rejects(other.sendMessages({ body: 'refused' }), (error) => {
    assert.match(String(error), /no valid AWS credentials at the moment: So says AWS\./);
    assert.equal((error as { code?: string }).code, 'ServiceBusy');
    return true;
  });
  const sending = sender.sendMessages({ body: 'after' });
  const refused = dynamo.refused;
  while (dynamo.refused === refused) {
    // A client that gives up would let this wait for ever.
    await Promise.race([sending, new Promise((resolve) => setImmediate(resolve))]);
  }
  dynamo.refusal = undefined;
  await sending;
  assert.deepEqual(
    (await waiting).map(({ body }) => body),
    ['after'],
  );
});

for (const [refusal, sentence] of [
  ['AccessDeniedException', /may not use the tables; grantDirect/],
  ['UnrecognizedClientException', /does not know the credentials/],
] as const) {
  test(`a client learns of ${refusal}`, async (t) => {
    const { impatient, dynamo, queue } = await connected(t);
    dynamo.refusal = refusal;
    await assert.rejects(impatient.createSender(queue).sendMessages({ body: 'x' }), (error) => {
      assert.match(String(error), sentence);
      assert.equal((error as { code?: string }).code, 'UnauthorizedAccess');
      return true;
    });
  });
}
