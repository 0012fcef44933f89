import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/**
 * The outcome of one attempt of a request: it succeeds and its answer is lost; it is refused for the moment, or
 * for good (`full`); it fails and arrives late, at the call of `arrive`; or it succeeds after all late attempts
 * have arrived (`overtaken`). A function runs before the attempt fails.
 */
export type Try =
  | 'answer-lost'
  | 'conflict'
  | 'throttled'
  | 'full'
  | 'late'
  | 'overtaken'
  | (() => Promise<unknown>);

/** A client of DynamoDB of which the tries of a request go as told; see `startTries`. */
export interface TriesClient {
  readonly client: DynamoDBClient;
  /** What becomes of the next tries of a command, whether the SDK makes them or who uses it. */
  next(command: string, tries: readonly Try[]): void;
  /** Has the late tries carried out now. */
  arrive(): Promise<void>;
}

/** Below the retries of the SDK, and below what the product puts there. To be destroyed by who asked for it. */
export function startTries(): TriesClient {
  const client = engineClient();
  let meant: string | undefined;
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
        if (commandName !== meant) return await handle(args);
        const fate = left.shift();
        if (fate === undefined || typeof fate === 'function') return await handle(args);
        if (fate === 'overtaken') {
          await arrive();
          return await handle(args);
        }
        if (fate === 'late') late.push(() => handle(args));
        if (fate === 'answer-lost') await Promise.allSettled([handle(args)]);
        while (typeof left[0] === 'function') await (left.shift() as () => Promise<unknown>)();
        if (fate === 'conflict' || fate === 'throttled' || fate === 'full') {
          throw refusal(commandName, fate);
        }
        throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      },
    // Where the network is: inside of everything that looks at answers.
    { step: 'deserialize', priority: 'low', name: 'tries' },
  );
  return {
    client,
    next: (command, tries) => {
      meant = command;
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

function refusal(command: string | undefined, fate: Refused): Error {
  const options = { message: 'Refused for the moment.', $metadata: { httpStatusCode: 400 } };
  if (command !== TransactWriteItemsCommand.name) {
    return fate === 'conflict'
      ? new TransactionConflictException(options)
      : new ProvisionedThroughputExceededException(options);
  }
  const CancellationReasons = [{ Code: REASONS[fate] }];
  return new TransactionCanceledException({ ...options, CancellationReasons });
}
