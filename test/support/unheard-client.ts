import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** What is throttled behind a write that is carried out unheard: its own retries, or all that follows. */
type Throttled = 'its retries' | 'everything';

/** A client of DynamoDB that loses the answer to one write, and is throttled then; see `startUnheard`. */
export interface UnheardClient {
  readonly client: DynamoDBClient;
  /** Counts the writes from now on. */
  count(): void;
  /** The write of this number, counted from 1 and from now on, is carried out unheard. */
  loseWrite(number: number, throttled: Throttled): void;
  /** All goes well from now on. Returns how many writes there were. */
  heal(): number;
  /** Nothing is carried out any more. */
  throttle(): void;
}

/** The SDK's own retries are made, though without a pause. */
const ATTEMPTS_MAX = 4;

/** Below the retries of the SDK, and below what the product puts there. To be destroyed by who asked for it. */
export function startUnheard(): UnheardClient {
  const client = engineClient();
  retryAtOnce(client);
  let lost: { readonly number: number; readonly throttled: Throttled } | undefined;
  let writes = 0;
  let unheard: object | undefined;
  let isThrottled = false;
  const begin = () => {
    writes = 0;
    unheard = undefined;
  };
  client.middlewareStack.add(
    (handle, { commandName = '' }) =>
      async (args) => {
        if (isThrottled) throw throttled(commandName);
        const isRetry = unheard !== undefined && args.input === unheard;
        if (unheard !== undefined && (isRetry || lost?.throttled === 'everything'))
          throw throttled(commandName);
        if (unheard !== undefined || !WRITES.test(commandName)) return await handle(args);
        if (++writes !== lost?.number) return await handle(args);
        unheard = args.input;
        await Promise.allSettled([handle(args)]);
        throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      },
    // Where the network is: inside of everything that looks at answers.
    { step: 'deserialize', priority: 'low', name: 'unheard' },
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
      unheard = undefined;
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
