import {
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import { collectionOf, type Outgoing } from './pause-client.ts';
import { engineClient } from './start-broker.ts';

/** Called before each request; what it throws is the answer. */
export type Hook = (request: Outgoing) => unknown;

/** A client of DynamoDB that tells of its requests. To be destroyed by the test that asked for it. */
export function hookedClient(hook: Hook): DynamoDBClient {
  const client = engineClient();
  // A failure that a test asks for need not be repeated.
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

/** What the database answers when it is at fault. */
export function databaseFault(): InternalServerError {
  return new InternalServerError({ message: 'The database failed.', $metadata: {} });
}

/** What the database answers where it has no capacity for a request, which it surely did not carry out. */
export function throttled(): ProvisionedThroughputExceededException {
  const $metadata = { httpStatusCode: 400 };
  return new ProvisionedThroughputExceededException({ message: 'Throttled.', $metadata });
}
