import {
  type DynamoDBClient,
  InternalServerError,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A client whose process can be made to die between two transactions. */
export interface CuttingClient {
  readonly client: DynamoDBClient;
  /** From now on so many more transactions happen, and after that nothing is written any more. */
  dieAfter(transactions: number): void;
  /** The machine is up again. */
  revive(): void;
  /** How many transactions happened since the last `dieAfter`. */
  readonly transactions: number;
}

/** Cuts off writes as a crash would: what came before is stored, and nothing after. */
export function cuttingClient(): CuttingClient {
  const client = engineClient();
  // A dead process does not try again, and tests do not wait for it.
  client.config.maxAttempts = async () => 1;
  let left: number | undefined;
  let done = 0;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (left === undefined || !isWrite(commandName)) return await next(args);
        if (left === 0) throw died();
        if (commandName === TransactWriteItemsCommand.name) {
          left--;
          done++;
        }
        return await next(args);
      },
    { step: 'initialize', name: 'cutting' },
  );
  return {
    client,
    get transactions() {
      return done;
    },
    dieAfter: (transactions) => {
      left = transactions;
      done = 0;
    },
    revive: () => {
      left = undefined;
    },
  };
}

function isWrite(command: string | undefined): boolean {
  return /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/.test(command ?? '');
}

function died(): InternalServerError {
  return new InternalServerError({ message: 'The process died.', $metadata: {} });
}
