import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** Saves what the SDK walks through every request and answer for: to tell a logger that nobody has set. */
export function unlogged(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}
