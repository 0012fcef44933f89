import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/**
 * Removes the logging middleware of a client. It would inspect every request and response to log it,
 * although no logger is set, which costs CPU time.
 */
export function withoutLogger(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}
