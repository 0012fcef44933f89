import type { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { OperationName, SimulatedDatabase } from './database.ts';
import { marshallRequest, unmarshallAnswer } from './marshalling.ts';
import type { Network, NetworkRequest } from './network.ts';
import { RetryBudget, retryDelay, retryKind } from './retry-strategy.ts';

export { type Arrived, directNetwork, type Network, type NetworkRequest } from './network.ts';

/** The setting of deployed functions. */
const MAX_ATTEMPTS = 3;
const TRANSACTION = 'TransactWriteItemsCommand';

/** The command that the SDK sends for each document command. */
export const DOCUMENT_COMMANDS: Readonly<Record<string, string>> = {
  GetCommand: 'GetItemCommand',
  PutCommand: 'PutItemCommand',
  UpdateCommand: 'UpdateItemCommand',
  DeleteCommand: 'DeleteItemCommand',
  BatchGetCommand: 'BatchGetItemCommand',
  TransactWriteCommand: TRANSACTION,
};

/** The members of an SDK command that are used here. */
interface Command {
  readonly input: object;
  readonly middlewareStack: PutItemCommand['middlewareStack'];
}

/** Replacements of the SDK's clients. */
export interface SimulatedClients {
  readonly client: DynamoDBClient;
  readonly documentClient: DynamoDBDocumentClient;
}

/**
 * Clients of a simulated database that behave as the SDK's do. The middleware of a command sees each of its tries.
 * Transient failures are retried, with up to `maxAttempts` tries in all (default 3, as deployed), while the
 * client has retry tokens left. All tries of a transaction have the same ClientRequestToken.
 */
export function simulatedClients(
  database: SimulatedDatabase,
  network: Network,
  { maxAttempts = MAX_ATTEMPTS }: { readonly maxAttempts?: number } = {},
): SimulatedClients {
  const sender = new Sender(database, network, maxAttempts);
  const client = {
    send: (command: Command) => sender.send(command.constructor.name, command, command.input),
    destroy: () => {},
  };
  const documentClient = {
    send: async (command: Command) => {
      const { name } = command.constructor;
      const input = marshallRequest(command.input);
      return unmarshallAnswer(await sender.send(DOCUMENT_COMMANDS[name] ?? name, command, input));
    },
    destroy: () => {},
  };
  return {
    client: client as unknown as DynamoDBClient,
    documentClient: documentClient as unknown as DynamoDBDocumentClient,
  };
}

type Try = () => Promise<{ readonly output: object }>;

class Sender {
  readonly #database: SimulatedDatabase;
  readonly #network: Network;
  readonly #maxAttempts: number;
  readonly #budget = new RetryBudget();

  constructor(database: SimulatedDatabase, network: Network, maxAttempts: number) {
    this.#database = database;
    this.#network = network;
    this.#maxAttempts = maxAttempts;
  }

  /** Sends a request, with the retries of the SDK. The metadata of the outcome counts the tries. */
  async send(name: string, command: Command, given: object): Promise<object> {
    const input = name === TRANSACTION ? this.#withToken(given) : given;
    let attempt = 0;
    const send = watched(command, async () => ({
      output: await this.#carry({ name, input, attempt }),
    }));
    let last: ReturnType<typeof retryKind>;
    let totalRetryDelay = 0;
    for (;;) {
      attempt++;
      try {
        const { output } = await send();
        this.#budget.gain(last);
        return {
          ...output,
          $metadata: { httpStatusCode: 200, attempts: attempt, totalRetryDelay },
        };
      } catch (error) {
        const kind = retryKind(error);
        if (kind === undefined || attempt >= this.#maxAttempts || !this.#budget.spend(kind)) {
          throw withAttempts(error, { attempts: attempt, totalRetryDelay });
        }
        last = kind;
        const delay = retryDelay(kind, attempt, this.#network.random());
        totalRetryDelay += delay;
        await this.#network.pause(delay);
      }
    }
  }

  #carry(request: NetworkRequest): Promise<object> {
    const { name, input } = request;
    return this.#network.carry(request, () => {
      if (name !== TRANSACTION) {
        return { answer: this.#database.execute(name as OperationName, input) };
      }
      const prepared = this.#database.prepare(input);
      return { finish: () => this.#database.commit(prepared) };
    });
  }

  /** Adds a token, as the SDK does, to a transaction that has none. */
  #withToken(input: object): object {
    const random = Array.from({ length: 3 }, () =>
      this.#network.random().toString(36).slice(2, 12),
    );
    return { ClientRequestToken: random.join('-'), ...input };
  }
}

/** One try of a command, inside the middleware that was added to the command. */
function watched(command: Command, once: Try): Try {
  const handler = command.middlewareStack.resolve(
    async () => ({ ...(await once()), response: {} }) as never,
    {},
  );
  const args = { input: command.input, request: {} } as never;
  return () => handler(args);
}

function withAttempts(error: unknown, attempts: object): unknown {
  if (!(error instanceof Error)) return error;
  const { $metadata } = error as { $metadata?: object };
  return Object.assign(error, { $metadata: { ...$metadata, ...attempts } });
}
