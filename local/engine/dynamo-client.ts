import { Agent } from 'node:http';
import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  ListTablesCommand,
} from '@aws-sdk/client-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { unlogged } from '../../shared/app/unlogged.ts';
import { ENGINE_REGION, type EngineAddress, engineAddress } from './engine-address.ts';

/** More than requests ever run at once against one engine, so that none waits for a socket. */
const SOCKETS_MAX = 256;
const ATTEMPTS_MAX = 4;
const CONNECT_MS_MAX = 2000;
const REQUEST_MS_MAX = 30_000;
const FAILURE_EVERY_MS = 10_000;

/**
 * No engine of ours checks a signature, but each wants to see one. A constant does, and saves a third
 * of what a request costs the client: signing hashes every byte that is sent.
 */
function madeUpIdentity(accessKeyId: string) {
  const credential = `Credential=${accessKeyId}/20260101/${ENGINE_REGION}/dynamodb/aws4_request`;
  return {
    region: ENGINE_REGION,
    credentials: { accessKeyId, secretAccessKey: 'local' },
    signer: {
      sign: async (request) => {
        request.headers['authorization'] =
          `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=none`;
        request.headers['x-amz-date'] = '20260101T000000Z';
        return request;
      },
    },
  } satisfies DynamoDBClientConfig;
}

export interface DynamoClientOptions {
  /** Whether the engine answers a transaction before it is committed (see Engine). */
  readonly commitsLate?: boolean;
  /** Told in a line that the engine failed, at most every 10 s; clients only hear of a time-out. */
  readonly reportFailure?: (line: string) => void;
  /** The last error that the engine told of. */
  readonly lastError?: () => string;
}

/**
 * A client for the engine at an endpoint. Its credentials are the key in the endpoint, or else made up,
 * unless `DYNAMODB_ENDPOINT` and AWS credentials are both in the environment: then the engine may be one
 * that checks them.
 */
export function createDynamoClient(
  endpoint: string,
  { commitsLate = false, reportFailure, lastError }: DynamoClientOptions = {},
): DynamoDBClient {
  // Meant for those who deploy; whoever runs the local server has chosen their Node.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const address = engineAddress(endpoint);
  const options = {
    endpoint: address.url,
    ...identity(address, process.env),
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: new NodeHttpHandler({
      httpAgent: new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX }),
      connectionTimeout: CONNECT_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
    }),
  };
  const client = unlogged(new DynamoDBClient(options));
  if (commitsLate) awaitCommits(client);
  if (reportFailure !== undefined) watchFailures(client, reportFailure, lastError);
  return client;
}

/** Tells of requests that the engine failed at, or left without an answer, in all their tries. */
function watchFailures(
  client: DynamoDBClient,
  report: (line: string) => void,
  lastError = () => '',
): void {
  let silentUntil = 0;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        try {
          return await next(args);
        } catch (error) {
          if (isEngineFailure(error) && performance.now() >= silentUntil) {
            silentUntil = performance.now() + FAILURE_EVERY_MS;
            report(failureLine(String(commandName), error, lastError()));
          }
          throw error;
        }
      },
    { step: 'initialize', name: 'watchFailures' },
  );
}

function isEngineFailure(error: unknown): error is Error {
  const { name, $metadata } = error as Partial<ServiceException>;
  return (
    error instanceof Error && (name === 'TimeoutError' || ($metadata?.httpStatusCode ?? 0) >= 500)
  );
}

function failureLine(command: string, { name, message }: Error, words: string): string {
  const said = words === '' ? '' : ` Its last error: ${words}`;
  return `The engine failed at a ${command}: ${name}: ${message}${said}\nCheck that its disk is not full and that its data can be read and written.`;
}

interface ServiceException {
  readonly name: string;
  readonly $metadata: { readonly httpStatusCode?: number };
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

/** Whether requests to an engine are signed with the AWS credentials of the environment. */
export function hasOwnCredentials({ namesKey }: EngineAddress, env: NodeJS.ProcessEnv): boolean {
  const { DYNAMODB_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = env;
  return !namesKey && Boolean(DYNAMODB_ENDPOINT && AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY);
}

function identity(address: EngineAddress, env: NodeJS.ProcessEnv): DynamoDBClientConfig {
  if (!hasOwnCredentials(address, env)) return madeUpIdentity(address.accessKey);
  const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '', AWS_SESSION_TOKEN } = env;
  return {
    region: env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? ENGINE_REGION,
    credentials: {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
    },
  };
}
