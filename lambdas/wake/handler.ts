import { LambdaClient } from '@aws-sdk/client-lambda';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { boundedClient, SOCKETS_MAX } from '../../shared/app/bounded-client.ts';
import { composeStates } from '../../shared/app/compose-states.ts';
import { deployedSettings } from '../../shared/app/deployed-settings.ts';
import { invokePush } from '../../shared/app/invoke-push.ts';
import { readNamespace, readPushFunction } from '../../shared/app/settings.ts';
import { wakeForItems } from '../../shared/app/stored-wakes.ts';
import { startFunction } from '../http/start-function.ts';

/**
 * Starts workers for consumers whose messages were stored. The stream of the messages table invokes it with items that
 * have the mark of consumers. It pushes nothing itself, since that would hold up the shard of the stream.
 */
export const handler = startFunction(() => {
  const stores = composeStates({
    ...deployedSettings(process.env),
    namespace: readNamespace(process.env),
  });
  const client = new LambdaClient(boundedClient(SOCKETS_MAX));
  const start = invokePush(client, readPushFunction(process.env));
  return async ({ Records }: DynamoDBStreamEvent) => {
    const keys = Records.flatMap(({ dynamodb }) => dynamodb?.Keys?.['pk']?.S ?? []);
    await wakeForItems(stores, keys, start);
  };
});
