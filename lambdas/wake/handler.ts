import { LambdaClient } from '@aws-sdk/client-lambda';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { boundedClient, SOCKETS_MAX } from '../../shared/app/bounded-client.ts';
import { deployedSettings } from '../../shared/app/deployed-settings.ts';
import { composeStates } from '../../shared/app/push/compose-states.ts';
import { invokePush } from '../../shared/app/push/invoke-push.ts';
import { wakeForItems } from '../../shared/app/push/stored-wakes.ts';
import { readNamespace, readPushFunction } from '../../shared/app/settings.ts';
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
