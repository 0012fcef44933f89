import { Agent } from 'node:http';
import {
  type DynamoDBClient,
  type DynamoDBClientConfig,
  ListTablesCommand,
} from '@aws-sdk/client-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { createLeanClient } from '../../shared/storage/dynamodb/lean-client.ts';
import { ENGINE_REGION, type EngineAddress, engineAddress } from './engine-address.ts';

/** Above the number of requests that run at once against one engine, so that no request waits for a socket. */
const SOCKETS_MAX = 256;
const ATTEMPTS_MAX = 4;
const CONNECT_MS_MAX = 2000;
const REQUEST_MS_MAX = 30_000;
const FAILURE_EVERY_MS = 10_000;

/** Without credentials, the SDK would look for some on this machine. */
function placeholderIdentity(accessKeyId: string): DynamoDBClientConfig {
  return { region: ENGINE_REGION, credentials: { accessKeyId, secretAccessKey: 'local' } };
}

/**
 * Gives all requests of a client one signature. The local engines require a signature and do not check it, and
 * signing, which hashes every byte of a request, takes a third of the client's processor time.
 */
function signWithPlaceholder(client: DynamoDBClient, accessKeyId: string): void {
  const credential = `Credential=${accessKeyId}/20260101/${ENGINE_REGION}/dynamodb/aws4_request`;
  const signature = {
    authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=none`,
    'x-amz-date': '20260101T000000Z',
  };
  client.middlewareStack.remove('httpAuthSchemeMiddleware');
  client.middlewareStack.remove('httpSigningMiddleware');
  client.middlewareStack.add(
    (next) => (args) => {
      Object.assign((args.request as { readonly headers: object }).headers, signature);
      return next(args);
    },
    { step: 'build', name: 'signWithPlaceholder' },
  );
}

/** Options of a client for a local engine. */
export interface DynamoClientOptions {
  /** Whether the engine answers a transaction before it commits it; see `Engine.commitsLate`. */
  readonly commitsLate?: boolean;
  /**
   * Receives a line when the engine fails, at most every 10 s. The clients' own error is only a time-out.
   */
  readonly reportFailure?: (line: string) => void;
  /** The last error line of the engine's output; empty if there is none. */
  readonly lastError?: () => string;
}

/**
 * Creates a client for the engine at an endpoint. Its access key is the one in the endpoint, or else a
 * placeholder. Exception: without a key in the endpoint, and with both `DYNAMODB_ENDPOINT` and AWS credentials
 * in the environment, the client signs with those, because that engine may check signatures. Throws
 * StartupError if the endpoint is not an HTTP URL.
 */
export function createDynamoClient(
  endpoint: string,
  { commitsLate = false, reportFailure, lastError }: DynamoClientOptions = {},
): DynamoDBClient {
  // The warning is for deployments. Users of the local server choose their version of Node themselves.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const address = engineAddress(endpoint);
  const signs = usesAwsCredentials(address, process.env);
  const options = {
    endpoint: address.url,
    ...(signs ? identityOf(process.env) : placeholderIdentity(address.accessKey)),
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: new NodeHttpHandler({
      httpAgent: new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX }),
      connectionTimeout: CONNECT_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
    }),
  };
  const client = createLeanClient(options);
  if (!signs) signWithPlaceholder(client, address.accessKey);
  if (commitsLate) awaitCommits(client);
  if (reportFailure !== undefined) watchFailures(client, reportFailure, lastError);
  return client;
}

/** Reports requests that failed in the engine, or got no answer, after all retries. */
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

function failureLine(command: string, { name, message }: Error, lastError: string): string {
  const detail = lastError === '' ? '' : ` Its last error: ${lastError}`;
  return `The engine failed at a ${command}: ${name}: ${message}${detail}\nCheck that its disk is not full and that its data can be read and written.`;
}

interface ServiceException {
  readonly name: string;
  readonly $metadata: { readonly httpStatusCode?: number };
}

/**
 * Sends one more request after each transaction, and resolves the transaction only after its answer. The
 * engine processes requests in one queue, so that answer comes after the commit.
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

/**
 * Whether requests to an engine are signed with the AWS credentials of the environment: they are if these and
 * `DYNAMODB_ENDPOINT` are set and the endpoint holds no access key.
 */
export function usesAwsCredentials({ hasKey }: EngineAddress, env: NodeJS.ProcessEnv): boolean {
  const { DYNAMODB_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = env;
  return !hasKey && Boolean(DYNAMODB_ENDPOINT && AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY);
}

function identityOf(env: NodeJS.ProcessEnv): DynamoDBClientConfig {
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
