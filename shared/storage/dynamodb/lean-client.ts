import type { Readable } from 'node:stream';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

type Config = DynamoDBClient['config'];
type Stack = DynamoDBClient['middlewareStack'];
type Middleware = Parameters<Stack['add']>[0];
/** What the middleware of a chain shares. */
type Context = Parameters<Middleware>[1];

type Answer = NonNullable<Awaited<ReturnType<ReturnType<Middleware>>>['output']>;

/** A chain of middleware, from a command to its answer. */
type Chain = (args: Sent) => Promise<{ readonly output: Answer }>;

interface Sent {
  readonly input: object;
  readonly command: Command;
}

/** The members of an SDK command that are used here. */
interface Command {
  readonly input: object;
  readonly middlewareStack: Stack;
  resolveMiddleware(stack: Stack, config: Config, options: undefined): Chain;
}

interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The format of requests and answers. */
interface Protocol {
  serializeRequest(operation: object, input: object, context: object): Promise<object>;
  deserializeResponse(operation: object, context: object, response: unknown): Promise<Answer>;
}

/**
 * Middleware that does nothing for a table: it logs, although there is no logger, and tells the service which
 * SDK and which invocation of a function send the request.
 */
const UNUSED = ['loggerMiddleware', 'getUserAgentMiddleware', 'recursionDetectionMiddleware'];

/**
 * A DynamoDB client that does for each request only what the request needs. The SDK's own client also builds a
 * chain of middleware, copies its configuration three times, finds its endpoint and describes itself, which
 * takes several times as long as printing the request and parsing the answer. Here one chain serves all
 * commands of a class, and the endpoint is found once. Retries, signatures, timeouts and errors are the SDK's.
 *
 * A command with options, such as a signal that aborts it, is sent as the SDK does. Middleware of a single command runs
 * in each try, around the step that parses the answer.
 */
export function createLeanClient(configuration: DynamoDBClientConfig): DynamoDBClient {
  const client = new DynamoDBClient({ ...configuration, streamCollector: collect });
  for (const name of UNUSED) client.middlewareStack.remove(name);
  convertWithoutCopies(client);
  client.middlewareStack.add(
    (next, context) => (args) => {
      const { command } = args as Partial<Sent>;
      const own = command?.middlewareStack.resolve(
        next as Parameters<Stack['resolve']>[0],
        context,
      );
      return (own ?? next)(args as never) as never;
    },
    { step: 'deserialize', priority: 'high', name: 'middlewareOfCommand' },
  );
  const chains = new Chains(client);
  const sendWith = client.send.bind(client) as (command: Command, options: object) => unknown;
  const send = async (command: Command, options?: object) => {
    if (options !== undefined) return await sendWith(command, options);
    const { output } = await chains.of(command)({ input: command.input, command });
    return output;
  };
  client.send = send as unknown as typeof client.send;
  return client;
}

/** What changes the middleware of a client. */
const CHANGES = ['add', 'addRelativeTo', 'remove'] as const;

/** The chains of a client, by class of command, until its middleware changes. */
class Chains {
  readonly #client: DynamoDBClient;
  readonly #chains = new Map<unknown, Chain>();
  #endpoint: Context['endpointV2'] | undefined;

  constructor(client: DynamoDBClient) {
    this.#client = client;
    const stack: Record<(typeof CHANGES)[number], unknown> = client.middlewareStack;
    for (const name of CHANGES) {
      const change = stack[name] as (...args: unknown[]) => unknown;
      stack[name] = (...args: unknown[]) => {
        this.#chains.clear();
        return change(...args);
      };
    }
  }

  of({ constructor: Class }: Command): Chain {
    const known = this.#chains.get(Class);
    if (known !== undefined) return known;
    // The command itself may have middleware that is not for others.
    const plain = new (Class as new (input: object) => Command)({});
    const { middlewareStack, config } = this.#client;
    const concat = (own: Stack) => this.#withEndpoint(middlewareStack.concat(own));
    const chain = plain.resolveMiddleware(
      { ...middlewareStack, concat } as Stack,
      config,
      undefined,
    );
    if (this.#endpoint !== undefined) this.#chains.set(Class, chain);
    return chain;
  }

  /** Keeps the endpoint that the SDK finds, and uses it instead of finding it again. */
  #withEndpoint(stack: Stack): Stack {
    const endpoint = this.#endpoint;
    if (endpoint === undefined) {
      const keep: Middleware = (next, context) => (args) => {
        this.#endpoint = context.endpointV2;
        return next(args);
      };
      stack.add(keep, { step: 'deserialize', name: 'keepEndpoint' });
    } else {
      const use: Middleware = (next, context) => {
        context.endpointV2 = endpoint;
        return next;
      };
      stack.addRelativeTo(use, IN_PLACE_OF_ENDPOINT);
    }
    return stack;
  }
}

/** The place of the SDK's own search for the endpoint. */
const IN_PLACE_OF_ENDPOINT = {
  name: 'endpointV2Middleware',
  relation: 'before',
  toMiddleware: 'serializerMiddleware',
  override: true,
} as const;

/** Prints requests and parses answers as the SDK does, without a copy of the configuration for each of them. */
function convertWithoutCopies({ middlewareStack, config }: DynamoDBClient): void {
  const protocol = config.protocol as Protocol;
  middlewareStack.add(
    (next, context) => {
      const operation = operationOf(context);
      const shared = { ...config, ...context, endpoint: async () => context.endpointV2 };
      return async (args) => {
        const request = await protocol.serializeRequest(operation, args.input, shared);
        return await next({ ...args, request });
      };
    },
    { step: 'serialize', name: 'serializerMiddleware', override: true },
  );
  middlewareStack.add(
    (next, context) => {
      const operation = operationOf(context);
      const shared = { ...config, ...context };
      return async (args) => {
        const { response } = await next(args);
        try {
          return {
            response,
            output: await protocol.deserializeResponse(operation, shared, response),
          };
        } catch (error) {
          throw withResponse(error, response);
        }
      };
    },
    { step: 'deserialize', name: 'deserializerMiddleware', override: true },
  );
}

function operationOf({ __smithy_context: smithy }: Context): object {
  const { operationSchema } = smithy as unknown as { readonly operationSchema: readonly unknown[] };
  const [, namespace, name, traits, input, output] = operationSchema;
  return { namespace, name, traits, input, output };
}

/** Adds to an error what retries and error mapping read: the response, and the status of one that cannot be parsed. */
function withResponse(error: unknown, response: unknown): unknown {
  if (!(error instanceof Error)) return error;
  Object.defineProperty(error, '$response', { value: response, configurable: true });
  if ('$metadata' in error) return error;
  const { statusCode, headers } = response as Response;
  const $metadata = { httpStatusCode: statusCode, requestId: headers['x-amzn-requestid'] };
  return Object.assign(error, { $metadata });
}

/** Reads the body of an answer, without the stream that the SDK's own function puts behind it. */
function collect(body: Readable): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    body.on('data', (chunk) => chunks.push(chunk));
    body.on('error', reject);
    body.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
