import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** The requests that are throttled after a write whose answer is lost. */
type Throttled = 'its retries' | 'everything';

/** A DynamoDB client that loses the answer of one write, and is throttled afterwards; see `startLostAnswers`. */
export interface LostAnswerClient {
  readonly client: DynamoDBClient;
  /** Counts the writes from now on. */
  count(): void;
  /** Loses the answer of this write, counted from 1 and from now on. */
  loseWrite(number: number, throttled: Throttled): void;
  /** Ends all faults. Returns the number of writes. */
  heal(): number;
  /** Throttles all requests. */
  throttle(): void;
}

/** Retries of the SDK, which are made without a pause. */
const ATTEMPTS_MAX = 4;

/** Acts below the retries of the SDK and the middleware of the product. The caller destroys the client. */
export function startLostAnswers(): LostAnswerClient {
  const client = engineClient();
  retryAtOnce(client);
  let lost: { readonly number: number; readonly throttled: Throttled } | undefined;
  let writes = 0;
  let lostInput: object | undefined;
  let isThrottled = false;
  const begin = () => {
    writes = 0;
    lostInput = undefined;
  };
  client.middlewareStack.add(
    (handle, { commandName = '' }) =>
      async (args) => {
        if (isThrottled) throw throttled(commandName);
        const isRetry = lostInput !== undefined && args.input === lostInput;
        if (lostInput !== undefined && (isRetry || lost?.throttled === 'everything'))
          throw throttled(commandName);
        if (lostInput !== undefined || !WRITES.test(commandName)) return await handle(args);
        if (++writes !== lost?.number) return await handle(args);
        lostInput = args.input;
        await Promise.allSettled([handle(args)]);
        throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      },
    // In place of the network, below all middleware that reads answers.
    { step: 'deserialize', priority: 'low', name: 'lostAnswers' },
  );
  return {
    client,
    count: begin,
    loseWrite: (number, what) => {
      lost = { number, throttled: what };
      begin();
    },
    heal: () => {
      lost = undefined;
      lostInput = undefined;
      isThrottled = false;
      return writes;
    },
    throttle: () => {
      isThrottled = true;
    },
  };
}

const WRITES = /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/;

function retryAtOnce(client: DynamoDBClient): void {
  const attempt = (count: number) => ({ getRetryCount: () => count, getRetryDelay: () => 0 });
  const strategy: Awaited<ReturnType<typeof client.config.retryStrategy>> = {
    acquireInitialRetryToken: async () => attempt(0),
    refreshRetryTokenForRetry: async (token, { errorType }) => {
      const count = token.getRetryCount() + 1;
      if (errorType === 'CLIENT_ERROR' || count >= ATTEMPTS_MAX) {
        throw new Error('There is no further attempt.');
      }
      return attempt(count);
    },
    recordSuccess: () => {},
  };
  client.config.retryStrategy = async () => strategy;
}

function throttled(command: string): Error {
  const options = { message: 'Throttled.', $metadata: { httpStatusCode: 400 } };
  return command === TransactWriteItemsCommand.name
    ? new TransactionCanceledException({
        ...options,
        CancellationReasons: [{ Code: 'None' }, { Code: 'ThrottlingError' }],
      })
    : new ProvisionedThroughputExceededException(options);
}
