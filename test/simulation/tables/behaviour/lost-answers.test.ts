import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  GetItemCommand,
  InternalServerError,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { WriteTries } from '../../../../shared/storage/dynamodb/write-tries.ts';
import { type Network, type NetworkRequest, simulatedClients } from '../client.ts';
import { key, number, putting, TABLE, TestDatabase } from './test-database.ts';

/** The result of a try: its answer is lost, it never arrives, arrives late, is answered, or fails. */
type TryResult = 'lost' | 'never' | 'late' | 'answered' | Error;

/** A network whose results a test sets. */
class TestNetwork implements Network {
  readonly results: TryResult[] = [];
  readonly requests: NetworkRequest[] = [];
  readonly pauses: number[] = [];
  fraction = 0.5;
  readonly #late: (() => void)[] = [];

  async carry(request: NetworkRequest, arrive: Parameters<Network['carry']>[1]): Promise<object> {
    this.requests.push(request);
    const result = this.results.shift() ?? 'answered';
    const execute = () => {
      const arrived = arrive();
      return 'answer' in arrived ? arrived.answer : arrived.finish();
    };
    if (result === 'answered') return execute();
    if (result === 'lost') execute();
    if (result === 'late') this.#late.push(execute);
    throw result instanceof Error
      ? result
      : Object.assign(new Error('The connection was reset.'), { code: 'ECONNRESET' });
  }

  async pause(ms: number): Promise<void> {
    this.pauses.push(ms);
  }

  random(): number {
    return this.fraction;
  }

  /** Lets the late tries arrive. */
  arrive(): void {
    for (const arrives of this.#late) arrives();
  }
}

function start(options: { maxAttempts?: number } = {}) {
  const tables = new TestDatabase();
  const network = new TestNetwork();
  return { tables, network, ...simulatedClients(tables.database, network, options) };
}

const count = {
  TableName: TABLE,
  Key: key('s'),
  UpdateExpression: 'ADD n :one',
  ExpressionAttributeValues: { ':one': number(1) },
};

test('a write whose answer is lost is sent again and applied twice', async () => {
  const { client, network, tables } = start();
  network.results.push('lost');

  const { $metadata } = await client.send(new UpdateItemCommand(count));

  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '2');
  assert.deepEqual(
    network.requests.map(({ name, attempt }) => [name, attempt]),
    [
      ['UpdateItemCommand', 1],
      ['UpdateItemCommand', 2],
    ],
  );
  assert.equal($metadata.attempts, 2);
});

test('a write may arrive after it has failed for the client', async () => {
  const { client, network, tables } = start({ maxAttempts: 1 });
  network.results.push('late');

  await assert.rejects(client.send(new UpdateItemCommand(count)), { code: 'ECONNRESET' });
  assert.equal(tables.get('s', { consistent: true }), undefined);

  network.arrive();
  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '1');
});

test('a transaction whose answer is lost is applied once, because its tries have one token', async () => {
  const { client, network, tables } = start();
  network.results.push('lost', 'lost');
  const TransactItems = [{ Update: count }];

  await client.send(new TransactWriteItemsCommand({ TransactItems }));
  network.fraction = 0.6;
  await client.send(new TransactWriteItemsCommand({ TransactItems }));

  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '2');
  const tokens = tokensOf(network);
  assert.deepEqual(
    tokens.map((token) => tokens.indexOf(token)),
    [0, 0, 0, 3],
  );
});

test('a client keeps the token of a request that has one', async () => {
  const { client, network } = start();
  const TransactItems = [putting('s')] as never;
  await client.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: 'own' }));
  assert.deepEqual(tokensOf(network), ['own']);
});

test('WriteTries sees each try of a write and can refuse the next one', async () => {
  const { client, network } = start();
  network.results.push('never', 'lost');
  const tries = new WriteTries({ once: true });
  const put = tries.watch(new PutItemCommand({ TableName: TABLE, Item: key('s') }));

  await assert.rejects(client.send(put), { name: 'SentBefore' });

  assert.equal(network.requests.length, 1);
  assert.equal(tries.isUncertain, true);
});

test('a refusal is thrown at once, and WriteTries then knows that the write was not applied', async () => {
  const { client, network, tables } = start();
  tables.put('s');
  const tries = new WriteTries({ once: false });
  const put = new PutItemCommand({
    TableName: TABLE,
    Item: key('s'),
    ConditionExpression: 'attribute_not_exists(pk)',
  });

  await assert.rejects(client.send(tries.watch(put)), {
    name: 'ConditionalCheckFailedException',
    $metadata: { httpStatusCode: 400, attempts: 1, totalRetryDelay: 0 },
  });

  assert.equal(network.requests.length, 1);
  assert.equal(tries.isUncertain, false);
});

test('the failure is thrown after the last try', async () => {
  for (const maxAttempts of [1, 2, 5]) {
    const { client, network } = start({ maxAttempts });
    network.results.push(...Array.from({ length: 9 }, (): TryResult => 'never'));
    const get = new GetItemCommand({ TableName: TABLE, Key: key('s') });
    await assert.rejects(client.send(get), { code: 'ECONNRESET' });
    assert.equal(network.requests.length, maxAttempts);
  }
});

test('a client without retry tokens does not retry, until requests succeed', async () => {
  const { client, network } = start();
  const get = () => client.send(new GetItemCommand({ TableName: TABLE, Key: key('s') }));
  const failing = () => {
    network.results.push(failed(), failed(), failed());
    return assert.rejects(get(), { name: 'InternalServerError' });
  };
  // Each retry costs 14 of 500 tokens: seventeen requests have two retries each, and the next one has one.
  for (let request = 0; request < 17; request++) await failing();
  network.requests.length = 0;
  await failing();
  assert.equal(network.requests.length, 2);

  network.results.length = 0;
  network.requests.length = 0;
  await failing();
  assert.equal(network.requests.length, 1);
  network.results.length = 0;
  for (let request = 0; request < 14; request++) await get();
  network.requests.length = 0;
  await failing();
  assert.equal(network.requests.length, 2);
});

function tokensOf(network: TestNetwork): readonly (string | undefined)[] {
  return network.requests.map(
    ({ input }) => (input as { ClientRequestToken?: string }).ClientRequestToken,
  );
}

function failed(): Error {
  return new InternalServerError({ message: 'failed', $metadata: { httpStatusCode: 500 } });
}
