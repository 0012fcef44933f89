import {
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { collectionOf, type Outgoing } from './pause-client.ts';
import { engineClient } from './start-broker.ts';

/** Called before each request; an error that it throws is the result of the request. */
export type Hook = (request: Outgoing) => unknown;

/** A DynamoDB client that calls `hook` before each request. The caller destroys the client. */
export function hookedClient(hook: Hook): DynamoDBClient {
  const client = engineClient();
  // The failure that a test injects needs no retry.
  client.config.maxAttempts = async () => 1;
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        await hook({ command: commandName, collection: collectionOf(args.input) });
        return await next(args);
      },
    { step: 'initialize', name: 'hooked' },
  );
  return client;
}

/** The error of a database failure. */
export function databaseFault(): InternalServerError {
  return new InternalServerError({ message: 'The database failed.', $metadata: {} });
}

/** The error of a throttled request, which the database has not carried out. */
export function throttled(): ProvisionedThroughputExceededException {
  const $metadata = { httpStatusCode: 400 };
  return new ProvisionedThroughputExceededException({ message: 'Throttled.', $metadata });
}

/** The answer to a transaction that another process is ahead of. */
export function refusedTransaction(): TransactionCanceledException {
  const CancellationReasons = [{ Code: 'ConditionalCheckFailed' }];
  return new TransactionCanceledException({ message: 'No.', $metadata: {}, CancellationReasons });
}
