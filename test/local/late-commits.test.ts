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

test('a transaction is done once an engine that commits late has answered something more', async (t) => {
  const engine = await startEngine(t);
  const client = createDynamoClient(engine.endpoint, { commitsLate: true });
  const sent = client.send(TRANSACTION).then(() => engine.asked.push('done'));

  (await engine.next('TransactWriteItems')).end('{}');
  (await engine.next('ListTables')).end('{"TableNames":[]}');
  await sent;

  assert.deepEqual(engine.asked, ['TransactWriteItems', 'ListTables', 'done']);
});

test('nothing more is asked of other engines, nor after anything else', async (t) => {
  const engine = await startEngine(t);
  const late = createDynamoClient(engine.endpoint, { commitsLate: true });
  const read = late.send(new GetItemCommand({ TableName: 'table', Key: KEY }));
  (await engine.next('GetItem')).end('{}');
  await read;

  const sent = createDynamoClient(engine.endpoint).send(TRANSACTION);
  (await engine.next('TransactWriteItems')).end('{}');
  await sent;

  assert.deepEqual(engine.asked, ['GetItem', 'TransactWriteItems']);
});

/** An engine that answers when the test says so. */
async function startEngine(t: TestContext) {
  const asked: string[] = [];
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.headers['x-amz-target']).split('.').at(-1) ?? '');
    request.resume().on('end', () => {
      waiting.push(response);
      server.emit('asked');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const next = async (operation: string): Promise<ServerResponse> => {
    if (waiting.length === 0) await once(server, 'asked');
    const response = waiting.shift();
    assert.ok(response);
    assert.equal(asked.at(-1), operation);
    return response;
  };
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, next };
}
