import { type DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A client whose transactions can be held up. */
export interface InterposingClient {
  readonly client: DynamoDBClient;
  /** Has this done just before the next transaction is sent, whose conditions are fixed by then. */
  beforeNextTransaction(work: () => Promise<void>): void;
}

/** To be destroyed by whoever asked for it. */
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
