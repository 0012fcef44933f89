import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { createLeanClient } from '../../../shared/storage/dynamodb/lean-client.ts';
import { WriteTries } from '../../../shared/storage/dynamodb/write-tries.ts';

/** The lean client sends, and understands, what the SDK's own client does. */

interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer of the service: a status and a body; `cut` closes the connection within the body. */
type Answer = readonly [status: number, body: string, 'cut'?];

const OK: Answer = [200, '{}'];
const KEY = { pk: { S: 'a' }, sk: { S: '1' } };
const ITEM = {
  ...KEY,
  bytes: { B: Uint8Array.of(0, 255, 7) },
  list: { L: [{ N: '1' }, { M: { text: { S: 'é"\\\u2028' } } }] },
};
const PUT = {
  TableName: 'messages',
  Item: ITEM,
  ConditionExpression: 'attribute_not_exists(pk)',
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
} as const;
const put = () => new PutItemCommand(PUT);
const SENDS: Readonly<Record<string, (client: DynamoDBClient) => Promise<object>>> = {
  put: (client) => client.send(put()),
  get: (client) => client.send(new GetItemCommand({ TableName: 'messages', Key: KEY })),
  query: (client) =>
    client.send(
      new QueryCommand({ TableName: 'messages', KeyConditionExpression: 'pk = :p', Limit: 3 }),
    ),
  transact: (client) =>
    client.send(
      new TransactWriteItemsCommand({
        TransactItems: [{ Put: { TableName: 'messages', Item: ITEM } }],
        ClientRequestToken: 'token',
      }),
    ),
};
/** Headers that differ from one request to the next. */
const VARYING = ['amz-sdk-invocation-id', 'authorization', 'x-amz-date', 'date', 'connection'];
/** Headers that only the SDK's own client sends. */
const LEFT_OUT = ['user-agent', 'x-amz-user-agent'];
const STORED = JSON.stringify({
  pk: { S: 'a' },
  b: { B: 'AP8H' },
  list: { L: [{ M: { x: { B: 'Bw==' } } }] },
});
const ANSWERS: Readonly<Record<string, readonly Answer[]>> = {
  'an item': [[200, `{"Item":${STORED},"ConsumedCapacity":{"CapacityUnits":1.5}}`]],
  items: [[200, `{"Items":[${STORED},${STORED}],"Count":2,"LastEvaluatedKey":{"pk":{"S":"a"}}}`]],
  'a failed condition': [
    [400, `{"__type":"x#ConditionalCheckFailedException","message":"No.","Item":${STORED}}`],
  ],
  'a cancelled transaction': [
    [
      400,
      `{"__type":"x#TransactionCanceledException","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":${STORED}}]}`,
    ],
  ],
  'an unknown error': [[400, '{"__type":"x#ValidationException","message":"Wrong."}']],
  'throttling, then success': [
    [400, '{"__type":"x#ProvisionedThroughputExceededException","message":"Busy."}'],
    OK,
  ],
  'faults until the tries are used up': [
    [500, '{"__type":"x#InternalServerError","message":"Failed."}'],
    [503, '<html>Unavailable</html>'],
    [500, ''],
  ],
  'a connection that breaks within the answer': [[200, '{"Item":', 'cut'], OK],
  'an answer that is no JSON': [[200, 'oops']],
};

for (const [name, send] of Object.entries(SENDS)) {
  for (const [what, answers] of Object.entries(ANSWERS)) {
    test(`${name}: the request, the tries and the outcome are those of the SDK's own client: ${what}`, async (t) => {
      const { config, arrived, answer } = await startService(t);
      const outcomes: unknown[] = [];
      for (const client of [new DynamoDBClient(config), createLeanClient(config)]) {
        t.after(() => client.destroy());
        await send(client);
        answer(answers);
        outcomes.push(await outcomeOf(send(client)));
      }
      const half = arrived.length / 2;
      assert.deepEqual(outcomes[1], outcomes[0]);
      assert.deepEqual(arrived.slice(half).map(comparable), arrived.slice(0, half).map(comparable));
    });
  }
}

test('every request is signed, and has one id for all of its tries', async (t) => {
  const { config, arrived, answer } = await startService(t);
  const client = createLeanClient(config);
  t.after(() => client.destroy());
  await client.send(put());
  answer([[500, ''], OK]);
  await client.send(put());
  const ids = arrived.map(({ headers }) => headers['amz-sdk-invocation-id']);
  assert.equal(new Set(ids).size, 2);
  assert.equal(ids[1], ids[2]);
  for (const { headers } of arrived) {
    assert.match(
      headers.authorization ?? '',
      /SignedHeaders=[^,]*host[^,]*x-amz-target.*Signature=/,
    );
    for (const name of LEFT_OUT) assert.equal(headers[name], undefined);
  }
});

test('the endpoint is found once, and middleware is put together once for each class of command', async (t) => {
  const { config } = await startService(t);
  const client = createLeanClient(config);
  t.after(() => client.destroy());
  const { endpointProvider } = client.config;
  let found = 0;
  let built = 0;
  client.config.endpointProvider = (...args) => {
    found++;
    return endpointProvider(...args);
  };
  client.middlewareStack.add(
    (next) => {
      built++;
      return next;
    },
    { step: 'initialize', name: 'counting' },
  );
  for (let i = 0; i < 5; i++) {
    for (const send of Object.values(SENDS)) await send(client);
  }
  assert.equal(found, 1);
  // The first command of all finds the endpoint.
  assert.equal(built, Object.keys(SENDS).length + 1);
});

test('middleware that is added or removed later counts from the next request on', async (t) => {
  const { config } = await startService(t);
  const client = createLeanClient(config);
  t.after(() => client.destroy());
  for (let i = 0; i < 2; i++) await client.send(put());
  let seen = 0;
  const counting: Parameters<typeof client.middlewareStack.add>[0] = (next) => (args) => {
    seen++;
    return next(args);
  };
  client.middlewareStack.add(counting, { step: 'deserialize', name: 'counting' });
  await client.send(put());
  client.middlewareStack.remove('counting');
  await client.send(put());
  assert.equal(seen, 1);
});

test('concurrent writes of one class have tries of their own', async (t) => {
  const { config, answer } = await startService(t);
  const client = createLeanClient(config);
  t.after(() => client.destroy());
  await client.send(put());
  const refused: Answer = [400, '{"__type":"x#ConditionalCheckFailedException"}'];
  answer([[500, ''], refused, refused]);
  const tries = [1, 2].map(() => new WriteTries({ once: false }));
  const sends = tries.map((one) => client.send(one.watch(put())));
  await Promise.allSettled(sends);
  assert.deepEqual(tries.map(({ isUncertain }) => isUncertain).sort(), [false, true]);
});

test('a write that must not be repeated is not sent again after an unknown outcome', async (t) => {
  const { config, arrived, answer } = await startService(t);
  const client = createLeanClient(config);
  t.after(() => client.destroy());
  await client.send(put());
  answer([[500, ''], OK]);
  const send = client.send(new WriteTries({ once: true }).watch(put()));
  await assert.rejects(send, { name: 'SentBefore' });
  assert.equal(arrived.length, 2);
});

/** A service that answers as it is told, and otherwise with an empty success. */
async function startService(t: TestContext) {
  const arrived: Arrived[] = [];
  let answers: Answer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      arrived.push({ headers: request.headers, body: String(Buffer.concat(chunks)) });
      const [status, body, cut] = answers.shift() ?? OK;
      response.writeHead(status, { 'x-amzn-requestid': 'id' });
      if (cut === undefined) response.end(body);
      else response.write(body, () => response.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const config: DynamoDBClientConfig = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    maxAttempts: 3,
  };
  return {
    config,
    arrived,
    answer: (next: readonly Answer[]) => {
      answers = [...next];
    },
  };
}

/** The answer, or what callers read of an error. */
async function outcomeOf(sending: Promise<object>): Promise<unknown> {
  try {
    return withoutDelay(await sending);
  } catch (error) {
    const { name, code, $metadata, $fault, Item, CancellationReasons } = error as Error &
      Record<string, object>;
    return { name, code, ...withoutDelay({ $metadata }), $fault, Item, CancellationReasons };
  }
}

/** Without the pauses between tries, which are random. */
function withoutDelay(answer: { readonly $metadata?: object | undefined }): object {
  const present = Object.entries(answer.$metadata ?? {}).filter(([, value]) => value !== undefined);
  return { ...answer, $metadata: { ...Object.fromEntries(present), totalRetryDelay: undefined } };
}

function comparable({ headers, body }: Arrived): object {
  const kept = Object.entries(headers).filter(
    ([name]) => !VARYING.includes(name) && !LEFT_OUT.includes(name),
  );
  return { headers: Object.fromEntries(kept), body: JSON.parse(body) };
}

test('a signal ends a request that gets no answer', async (t) => {
  const mute = createServer(() => {});
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  const client = createLeanClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  t.after(() => {
    client.destroy();
    mute.closeAllConnections();
    mute.close();
  });
  const abort = new AbortController();
  const arrived = once(mute, 'request');
  const sent = client.send(put(), { abortSignal: abort.signal });
  await arrived;
  abort.abort();
  await assert.rejects(sent, { name: 'AbortError' });
});
