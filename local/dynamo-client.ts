import { Agent } from 'node:http';
import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  ListTablesCommand,
} from '@aws-sdk/client-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/** More than requests ever run at once against one engine, so that none waits for a socket. */
const SOCKETS_MAX = 256;
const ATTEMPTS_MAX = 4;
const CONNECT_MS_MAX = 2000;
const REQUEST_MS_MAX = 30_000;

/**
 * No engine of ours checks a signature, but each wants to see one. A constant does, and saves a third
 * of what a request costs the client: signing hashes every byte that is sent.
 */
const MADE_UP_IDENTITY = {
  region: 'local',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  signer: {
    sign: async (request) => {
      request.headers['authorization'] =
        'AWS4-HMAC-SHA256 Credential=local/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=none';
      request.headers['x-amz-date'] = '20260101T000000Z';
      return request;
    },
  },
} satisfies DynamoDBClientConfig;

export interface DynamoClientOptions {
  /** Whether the engine answers a transaction before it is committed (see Engine). */
  readonly commitsLate?: boolean;
}

/**
 * A client for the engine at an endpoint. Its credentials are made up, unless `DYNAMODB_ENDPOINT`
 * and AWS credentials are both in the environment: then the engine may be one that checks them.
 */
export function createDynamoClient(
  endpoint: string,
  { commitsLate = false }: DynamoClientOptions = {},
): DynamoDBClient {
  // Meant for those who deploy; whoever runs the local server has chosen their Node.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const client = new DynamoDBClient({
    endpoint,
    ...identity(process.env),
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: new NodeHttpHandler({
      httpAgent: new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX }),
      connectionTimeout: CONNECT_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
    }),
  });
  // It walks through every request and answer to tell a logger that nobody has set.
  client.middlewareStack.remove('loggerMiddleware');
  if (commitsLate) awaitCommits(client);
  return client;
}

/**
 * Asks such an engine something more before a transaction counts as done. It works in one line, so
 * whatever it answers afterwards it answers after the commit.
 */
function awaitCommits(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        if (commandName === 'TransactWriteItemsCommand') {
          await client.send(new ListTablesCommand({ Limit: 1 }));
        }
        return result;
      },
    { step: 'initialize', name: 'awaitCommits' },
  );
}

function identity(env: NodeJS.ProcessEnv) {
  const { DYNAMODB_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env;
  if (!DYNAMODB_ENDPOINT || !AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    return MADE_UP_IDENTITY;
  }
  return {
    region: env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'local',
    credentials: {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
    },
  };
}
