import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { blockSortKey } from '../../shared/storage/schema/message-keys.ts';
import { engineClient } from './start-broker.ts';

/** A client that calls `hook` before each update of the live block with a sequence number. The caller destroys it. */
export function sortKeyHook(sequence: bigint, hook: () => void): DynamoDBClient {
  const client = engineClient();
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const { Key } = args.input as { Key?: Record<string, { S?: string }> };
        const isBlock = Key?.['sk']?.S === blockSortKey('live', sequence);
        if (commandName === 'UpdateItemCommand' && isBlock) hook();
        return await next(args);
      },
    { step: 'initialize', name: 'sortKeyHook' },
  );
  return client;
}
