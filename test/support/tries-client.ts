import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/**
 * The result of one attempt of a request: it is carried out but its answer is lost (`answer-lost`); or it is refused
 * for now, or for good (`full`); or the client gives up and it is carried out later, by `arrive` (`late`); or
 * late attempts are carried out just before it (`overtaken`). A function runs before the attempt fails.
 */
export type Try =
  | 'answer-lost'
  | 'conflict'
  | 'throttled'
  | 'full'
  | 'late'
  | 'overtaken'
  | (() => Promise<unknown>);

/** A DynamoDB client with chosen results of attempts; see `startTries`. */
export interface TriesClient {
  readonly client: DynamoDBClient;
  /** Sets the results of the next attempts of a command, including retries of the SDK. */
  next(command: string, tries: readonly Try[]): void;
  /** Carries out the late attempts now. */
  arrive(): Promise<void>;
}

/** Acts below the retries of the SDK and the middleware of the product. The caller destroys the client. */
export function startTries(): TriesClient {
  const client = engineClient();
  let affected: string | undefined;
  let left: Try[] = [];
  let late: (() => Promise<unknown>)[] = [];
  const arrive = async () => {
    const arriving = late;
    late = [];
    await Promise.allSettled(arriving.map((arrives) => arrives()));
  };
  client.middlewareStack.add(
    (handle, { commandName }) =>
      async (args) => {
        if (commandName !== affected) return await handle(args);
        const result = left.shift();
        if (result === undefined || typeof result === 'function') return await handle(args);
        if (result === 'overtaken') {
          await arrive();
          return await handle(args);
        }
        if (result === 'late') late.push(() => handle(args));
        if (result === 'answer-lost') await Promise.allSettled([handle(args)]);
        while (typeof left[0] === 'function') await (left.shift() as () => Promise<unknown>)();
        if (result === 'conflict' || result === 'throttled' || result === 'full') {
          throw refusal(commandName, result);
        }
        throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      },
    // In place of the network, below all middleware that reads answers.
    { step: 'deserialize', priority: 'low', name: 'tries' },
  );
  return {
    client,
    next: (command, tries) => {
      affected = command;
      left = [...tries];
    },
    arrive,
  };
}

type Refused = 'conflict' | 'throttled' | 'full';

const REASONS = {
  conflict: 'TransactionConflict',
  throttled: 'ThrottlingError',
  full: 'ItemCollectionSizeLimitExceeded',
} as const satisfies Record<Refused, string>;

function refusal(command: string | undefined, result: Refused): Error {
  const options = { message: 'Refused for now.', $metadata: { httpStatusCode: 400 } };
  if (command !== TransactWriteItemsCommand.name) {
    return result === 'conflict'
      ? new TransactionConflictException(options)
      : new ProvisionedThroughputExceededException(options);
  }
  const CancellationReasons = [{ Code: REASONS[result] }];
  return new TransactionCanceledException({ ...options, CancellationReasons });
}
