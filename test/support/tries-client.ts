import {
  type DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/**
 * What becomes of one try of a request: it is carried out unheard, or refused for the moment. A function
 * is something that happens before the next try.
 */
export type Try = 'unheard' | 'conflict' | 'throttled' | (() => Promise<unknown>);

/** A client of DynamoDB of which the tries of a request go as told; see `startTries`. */
export interface TriesClient {
  readonly client: DynamoDBClient;
  /** What becomes of the next tries of a command, whether the SDK makes them or who uses it. */
  next(command: string, tries: readonly Try[]): void;
}

/** Below the retries of the SDK, where the network is. To be destroyed by who asked for it. */
export function startTries(): TriesClient {
  const client = engineClient();
  let meant: string | undefined;
  let left: Try[] = [];
  client.middlewareStack.add(
    (handle, { commandName }) =>
      async (args) => {
        if (commandName !== meant) return await handle(args);
        let fate = left.shift();
        while (typeof fate === 'function') {
          await fate();
          fate = left.shift();
        }
        if (fate === undefined) return await handle(args);
        if (fate !== 'unheard') throw refusal(commandName, fate);
        await Promise.allSettled([handle(args)]);
        throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      },
    { step: 'finalizeRequest', priority: 'low', name: 'tries' },
  );
  return {
    client,
    next: (command, tries) => {
      meant = command;
      left = [...tries];
    },
  };
}

function refusal(command: string | undefined, fate: 'conflict' | 'throttled'): Error {
  const options = { message: 'Refused for the moment.', $metadata: { httpStatusCode: 400 } };
  if (command !== TransactWriteItemsCommand.name) return new TransactionConflictException(options);
  const Code = fate === 'conflict' ? 'TransactionConflict' : 'ThrottlingError';
  return new TransactionCanceledException({ ...options, CancellationReasons: [{ Code }] });
}
