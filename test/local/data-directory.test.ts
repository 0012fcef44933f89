import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { type Engine, startEngine } from '../../local/engine/engine.ts';
import { ENGINE_KINDS } from '../../local/engine/engine-recipes.ts';
import { ensureTables, LOCAL_TABLES } from '../../local/tables.ts';
import {
  curlLines,
  descendants,
  paste,
  startNamespaceCli,
  temporaryDirectory,
  untilEnded,
} from './cli.ts';

// These tests start their own engines.
process.env['DYNAMODB_ENDPOINT'] = '';

for (const kind of ENGINE_KINDS) {
  test(`acknowledged writes survive kill -9 of the engine: ${kind}`, async (t) => {
    const dataDirectory = temporaryDirectory(t);
    const first = await startEngine({ kind, dataDirectory });
    const acknowledged = await writeUntilKilled(first);
    assert.ok(acknowledged.length > 0);

    const second = await startEngine({ kind, dataDirectory });
    t.after(() => second.stop());

    assert.deepEqual(await readBack(second, acknowledged), acknowledged);
  });

  test(`a message survives kill -9 of the server: ${kind}`, async (t) => {
    const args = ['--engine', kind, '--data', temporaryDirectory(t)];
    const first = await startNamespaceCli(t, { args });
    const [create, send] = curlLines(first.output());
    assert.ok(create && send);
    assert.match(paste(create), /\n201$/);
    assert.match(paste(send), /\n201$/);
    first.child.kill('SIGKILL');

    const second = await startNamespaceCli(t, { args });

    const receive = curlLines(second.output())[2];
    assert.ok(receive);
    assert.equal(paste(receive), 'Hello, bus\n200');
  });
}

test('a second engine on one data directory is refused', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  const first = await startEngine({ kind: 'dynoxide', dataDirectory });
  t.after(() => first.stop());

  await assert.rejects(startEngine({ kind: 'dynoxide', dataDirectory }), {
    name: 'StartupError',
    message: new RegExp(`The data directory ${dataDirectory} is in use by another dynabus\\.$`),
  });
});

test('an engine waits for the one before it, which is still ending', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  const first = await startEngine({ kind: 'dynamodb-local', dataDirectory });
  const stopped = first.stop();

  const second = await startEngine({ kind: 'dynamodb-local', dataDirectory });

  await stopped;
  await second.stop();
});

test('a data directory belongs to the engine that wrote it', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  await (await startEngine({ kind: 'dynoxide', dataDirectory })).stop();

  const again = await startEngine({ dataDirectory });
  await again.stop();

  assert.match(again.name, /^dynoxide, data in /);
  await assert.rejects(startEngine({ kind: 'dynamodb-local', dataDirectory }), {
    message: `${dataDirectory} holds data of dynoxide, which dynamodb-local cannot read.`,
  });
});

/** Writes in parallel, and kills the engine meanwhile. Returns the writes that it acknowledged. */
async function writeUntilKilled(engine: Engine): Promise<readonly number[]> {
  const client = createDynamoClient(engine.endpoint);
  await ensureTables(client, LOCAL_TABLES);
  const acknowledged: number[] = [];
  let next = 0;
  let killed: readonly number[] = [];
  const write = async () => {
    while (killed.length === 0) {
      const number = next++;
      try {
        await client.send(
          new PutItemCommand({ TableName: LOCAL_TABLES.messages, Item: keyOf(number) }),
        );
        acknowledged.push(number);
      } catch {
        return;
      }
      if (acknowledged.length >= 100 && killed.length === 0) {
        killed = descendants(process.pid);
        // The supervisor first, so that it does not end the engine by SIGTERM.
        for (const pid of killed) process.kill(pid, 'SIGKILL');
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  await untilEnded(killed);
  client.destroy();
  return acknowledged;
}

async function readBack(engine: Engine, numbers: readonly number[]): Promise<readonly number[]> {
  const client = createDynamoClient(engine.endpoint);
  const found: number[] = [];
  for (const number of numbers) {
    const { Item } = await client.send(
      new GetItemCommand({
        TableName: LOCAL_TABLES.messages,
        Key: keyOf(number),
        ConsistentRead: true,
      }),
    );
    if (Item !== undefined) found.push(number);
  }
  client.destroy();
  return found;
}

const keyOf = (number: number) => ({ pk: { S: 'log' }, sk: { S: String(number) } });
