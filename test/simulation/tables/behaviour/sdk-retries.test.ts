import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { type Network, simulatedClients } from '../client.ts';
import { key, TABLE, TestDatabase } from './test-database.ts';

/**
 * Compares the retries of the simulated client with those of the SDK: if the same tries fail in the same way,
 * the number of tries and the delays between them must be the same.
 */

/** A fraction of the longest delay, small enough for a fast test. */
const FRACTION = 0.004;
const ATTEMPTS_MAX = 4;

interface RetryResult {
  readonly attempts?: number;
  readonly totalRetryDelay?: number;
  readonly name: string;
}

/** A failure: an answer of the service, or an error of the connection. */
interface Failure {
  readonly title: string;
  /** The service's answer. */
  readonly status?: number;
  readonly type?: string;
  /** The connection's error. */
  readonly error?: object;
}

const FAILURES: readonly Failure[] = [
  { title: 'throttled', status: 400, type: 'ThrottlingException' },
  {
    title: 'throttled as provisioned',
    status: 400,
    type: 'ProvisionedThroughputExceededException',
  },
  { title: 'over a limit', status: 400, type: 'RequestLimitExceeded' },
  { title: 'in progress', status: 400, type: 'TransactionInProgressException' },
  { title: 'in conflict', status: 400, type: 'TransactionConflictException' },
  { title: 'cancelled', status: 400, type: 'TransactionCanceledException' },
  { title: 'refused', status: 400, type: 'ConditionalCheckFailedException' },
  { title: 'invalid', status: 400, type: 'ValidationException' },
  { title: 'mismatched', status: 400, type: 'IdempotentParameterMismatchException' },
  { title: 'failed', status: 500, type: 'InternalServerError' },
  { title: 'unavailable', status: 503, type: 'ServiceUnavailable' },
  { title: 'unknown status', status: 501, type: 'NotImplemented' },
  { title: 'reset', error: { code: 'ECONNRESET' } },
  { title: 'connection refused', error: { code: 'ECONNREFUSED' } },
  { title: 'not found', error: { code: 'ENOTFOUND' } },
  { title: 'broken', error: { code: 'EPIPE' } },
  { title: 'aborted', error: { code: 'ECONNABORTED' } },
  { title: 'timed out', error: { name: 'TimeoutError' } },
  { title: 'given up', error: { name: 'AbortError', code: 'ECONNRESET' } },
  { title: 'transient cause', error: { cause: { code: 'ECONNRESET' } } },
];

const get = () => new GetItemCommand({ TableName: TABLE, Key: key('s') });

async function retryResultOf(sent: Promise<{ $metadata: object }>): Promise<RetryResult> {
  const { name, $metadata } = await sent.then(
    (answer) => ({ name: 'none', ...answer }),
    (error: Error & { $metadata: object }) => error,
  );
  const { attempts, totalRetryDelay } = $metadata as RetryResult;
  return { name, attempts: attempts ?? 0, totalRetryDelay: totalRetryDelay ?? 0 };
}

/** The SDK's client, over a connection on which the tries with some numbers fail. */
function sdk(failure: Failure, isFailing: (number: number) => boolean): DynamoDBClient {
  let tries = 0;
  return new DynamoDBClient({
    endpoint: 'http://127.0.0.1:1',
    region: 'local',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: {
      handle: async () => {
        if (!isFailing(tries++)) return answered(200, {});
        if (failure.error !== undefined) throw connectionError(failure.error);
        return answered(failure.status ?? 0, { __type: `service#${failure.type}` });
      },
    },
  });
}

function answered(statusCode: number, body: object) {
  const headers = { 'content-type': 'application/x-amz-json-1.0' };
  return { response: { statusCode, headers, body: Buffer.from(JSON.stringify(body)) } as never };
}

function connectionError(error: object): Error {
  return Object.assign(new Error('The connection failed.'), error);
}

/** The simulated client, with the same failing tries. */
function simulated(failure: Failure, isFailing: (number: number) => boolean) {
  let tries = 0;
  const network: Network = {
    carry: async (_, arrive) => {
      const arrived = arrive();
      if (!isFailing(tries++)) return 'answer' in arrived ? arrived.answer : {};
      const $metadata = { httpStatusCode: failure.status };
      throw connectionError(failure.error ?? { name: failure.type, $metadata });
    },
    pause: async () => {},
    random: () => FRACTION,
  };
  const { database } = new TestDatabase();
  return simulatedClients(database, network, { maxAttempts: ATTEMPTS_MAX }).client;
}

for (const failure of FAILURES) {
  test(`the simulated client retries like the SDK: ${failure.title}`, async (t) => {
    t.mock.method(Math, 'random', () => FRACTION);
    for (const failures of [1, ATTEMPTS_MAX]) {
      const isFailing = (number: number) => number < failures;
      const real = sdk(failure, isFailing);
      const results = [
        await retryResultOf(real.send(get())),
        await retryResultOf(simulated(failure, isFailing).send(get())),
      ];
      real.destroy();
      const [expected, actual] = results;
      assert.deepEqual(actual, expected);
    }
  });
}

/** The number of tries of each of 60 requests, one after the other. */
async function attemptsOf(client: Pick<DynamoDBClient, 'send'>): Promise<readonly unknown[]> {
  const counts: unknown[] = [];
  for (let i = 0; i < 60; i++) counts.push((await retryResultOf(client.send(get()))).attempts);
  return counts;
}

test('the simulated client has the retry budget of the SDK', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const patterns: readonly ((number: number) => boolean)[] = [
    () => true,
    (number) => number % 2 === 0,
    (number) => number % 7 < 5,
  ];
  for (const title of ['failed', 'throttled']) {
    const failure = FAILURES.find((each) => each.title === title) as Failure;
    for (const isFailing of patterns) {
      const real = sdk(failure, isFailing);
      const expected = await attemptsOf(real);
      assert.deepEqual(await attemptsOf(simulated(failure, isFailing)), expected);
      assert.ok(Number(expected[0]) > 1);
      real.destroy();
    }
  }
});
