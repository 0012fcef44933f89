import { type DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A DynamoDB client that runs other work just before a transaction. */
export interface InterposingClient {
  readonly client: DynamoDBClient;
  /** Runs `work` just before the next transaction is sent, when its conditions are already fixed. */
  beforeNextTransaction(work: () => Promise<void>): void;
}

/** The caller destroys the client. */
export function interposingClient(): InterposingClient {
  const client = engineClient();
  let pending: (() => Promise<void>) | undefined;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const work = commandName === TransactWriteItemsCommand.name ? pending : undefined;
        if (work !== undefined) {
          pending = undefined;
          await work();
        }
        return await next(args);
      },
    { step: 'initialize', name: 'interposing' },
  );
  return {
    client,
    beforeNextTransaction: (work) => {
      pending = work;
    },
  };
}
