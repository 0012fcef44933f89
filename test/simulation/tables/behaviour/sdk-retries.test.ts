import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { type Network, simulatedClients } from '../client.ts';
import { key, TABLE, TestDatabase } from './test-database.ts';

/**
 * The retries of the simulated client against those of the SDK: the same tries fail in the same way, and how
 * many there are and how long the SDK waits between them must be the same.
 */

/** A part of the longest pause, small enough that nobody waits. */
const FRACTION = 0.004;
const ATTEMPTS_MAX = 4;

interface Course {
  readonly attempts?: number;
  readonly totalRetryDelay?: number;
  readonly name: string;
}

/** A failure as the service answers it, or as the connection has it. */
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
  { title: 'of an unknown status', status: 501, type: 'NotImplemented' },
  { title: 'reset', error: { code: 'ECONNRESET' } },
  { title: 'refused a connection', error: { code: 'ECONNREFUSED' } },
  { title: 'not found', error: { code: 'ENOTFOUND' } },
  { title: 'broken', error: { code: 'EPIPE' } },
  { title: 'aborted', error: { code: 'ECONNABORTED' } },
  { title: 'timed out', error: { name: 'TimeoutError' } },
  { title: 'given up', error: { name: 'AbortError', code: 'ECONNRESET' } },
  { title: 'of a cause that passes', error: { cause: { code: 'ECONNRESET' } } },
];

const get = () => new GetItemCommand({ TableName: TABLE, Key: key('s') });

async function courseOf(sent: Promise<{ $metadata: object }>): Promise<Course> {
  const { name, $metadata } = await sent.then(
    (answer) => ({ name: 'none', ...answer }),
    (error: Error & { $metadata: object }) => error,
  );
  const { attempts, totalRetryDelay } = $metadata as Course;
  return { name, attempts: attempts ?? 0, totalRetryDelay: totalRetryDelay ?? 0 };
}

/** The SDK itself, over a connection on which some tries fail, by their number. */
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
        if (failure.error !== undefined) throw brought(failure.error);
        return answered(failure.status ?? 0, { __type: `service#${failure.type}` });
      },
    },
  });
}

function answered(statusCode: number, body: object) {
  const headers = { 'content-type': 'application/x-amz-json-1.0' };
  return { response: { statusCode, headers, body: Buffer.from(JSON.stringify(body)) } as never };
}

function brought(error: object): Error {
  return Object.assign(new Error('The connection failed.'), error);
}

/** The simulated client, on the same course. */
function simulated(failure: Failure, isFailing: (number: number) => boolean) {
  let tries = 0;
  const network: Network = {
    carry: async (_, arrive) => {
      const arrived = arrive();
      if (!isFailing(tries++)) return 'answer' in arrived ? arrived.answer : {};
      const $metadata = { httpStatusCode: failure.status };
      throw brought(failure.error ?? { name: failure.type, $metadata });
    },
    pause: async () => {},
    random: () => FRACTION,
  };
  const { database } = new TestDatabase();
  return simulatedClients(database, network, { maxAttempts: ATTEMPTS_MAX }).client;
}

for (const failure of FAILURES) {
  test(`a request that was ${failure.title} is tried again as the SDK does`, async (t) => {
    t.mock.method(Math, 'random', () => FRACTION);
    for (const failures of [1, ATTEMPTS_MAX]) {
      const isFailing = (number: number) => number < failures;
      const real = sdk(failure, isFailing);
      const courses = [
        await courseOf(real.send(get())),
        await courseOf(simulated(failure, isFailing).send(get())),
      ];
      real.destroy();
      const [expected, actual] = courses;
      assert.deepEqual(actual, expected);
    }
  });
}

/** How many tries each of some requests makes, one after the other. */
async function attemptsOf(client: Pick<DynamoDBClient, 'send'>): Promise<readonly unknown[]> {
  const counts: unknown[] = [];
  for (let i = 0; i < 60; i++) counts.push((await courseOf(client.send(get()))).attempts);
  return counts;
}

test('the budget of retries is that of the SDK', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const courses: readonly ((number: number) => boolean)[] = [
    () => true,
    (number) => number % 2 === 0,
    (number) => number % 7 < 5,
  ];
  for (const title of ['failed', 'throttled']) {
    const failure = FAILURES.find((each) => each.title === title) as Failure;
    for (const isFailing of courses) {
      const real = sdk(failure, isFailing);
      const expected = await attemptsOf(real);
      assert.deepEqual(await attemptsOf(simulated(failure, isFailing)), expected);
      assert.ok(Number(expected[0]) > 1);
      real.destroy();
    }
  }
});
