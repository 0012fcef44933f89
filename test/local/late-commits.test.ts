import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { GetItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';

const KEY = { pk: { S: 'a' } };
const TRANSACTION = new TransactWriteItemsCommand({
  TransactItems: [{ Put: { TableName: 'table', Item: KEY } }],
});

test('with an engine that commits late, a transaction resolves after the answer to one more request', async (t) => {
  const engine = await startEngine(t);
  const client = createDynamoClient(engine.endpoint, { commitsLate: true });
  const sent = client.send(TRANSACTION).then(() => engine.requested.push('done'));

  (await engine.next('TransactWriteItems')).end('{}');
  (await engine.next('ListTables')).end('{"TableNames":[]}');
  await sent;

  assert.deepEqual(engine.requested, ['TransactWriteItems', 'ListTables', 'done']);
});

test('other engines and other requests get no additional request', async (t) => {
  const engine = await startEngine(t);
  const late = createDynamoClient(engine.endpoint, { commitsLate: true });
  const read = late.send(new GetItemCommand({ TableName: 'table', Key: KEY }));
  (await engine.next('GetItem')).end('{}');
  await read;

  const sent = createDynamoClient(engine.endpoint).send(TRANSACTION);
  (await engine.next('TransactWriteItems')).end('{}');
  await sent;

  assert.deepEqual(engine.requested, ['GetItem', 'TransactWriteItems']);
});

/** Starts a fake engine that answers when the test ends a response. */
async function startEngine(t: TestContext) {
  const requested: string[] = [];
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    requested.push(String(request.headers['x-amz-target']).split('.').at(-1) ?? '');
    request.resume().on('end', () => {
      waiting.push(response);
      server.emit('requested');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const next = async (operation: string): Promise<ServerResponse> => {
    if (waiting.length === 0) await once(server, 'requested');
    const response = waiting.shift();
    assert.ok(response);
    assert.equal(requested.at(-1), operation);
    return response;
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requested,
    next,
  };
}
