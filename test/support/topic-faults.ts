import {
  type DynamoDBClient,
  InternalServerError,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A DynamoDB client of a process that crashes between two transactions. */
export interface CuttingClient {
  readonly client: DynamoDBClient;
  /** From now on, crashes right after this many transactions; later writes fail. */
  crashAfter(transactions: number): void;
  /** The same, but crashes only at the next transaction; other writes before it succeed. */
  crashAtTransactionAfter(transactions: number): void;
  /** Pauses at this write, counted from 1 and from now on, until `meanwhile` has run. */
  stallAt(write: number, meanwhile: () => Promise<unknown>): void;
  /** Restarts the process, and ends pauses. */
  restart(): void;
  /** The number of transactions since the last `crashAfter`. */
  readonly transactions: number;
}

/** Stops writes as a crash does: earlier writes are stored, and later ones are not. */
export function cuttingClient(): CuttingClient {
  const client = engineClient();
  // A crashed process does not retry, and tests do not wait for retries.
  client.config.maxAttempts = async () => 1;
  let left: number | undefined;
  let done = 0;
  let isCrashed = false;
  let waitsForTransaction = false;
  let stall: { at: number; readonly meanwhile: () => Promise<unknown> } | undefined;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (isWrite(commandName) && stall !== undefined && --stall.at === 0) {
          await stall.meanwhile();
        }
        if (left === undefined || !isWrite(commandName)) return await next(args);
        const isTransaction = commandName === TransactWriteItemsCommand.name;
        if (left === 0 && (isCrashed || isTransaction)) isCrashed = true;
        if (isCrashed) throw crashed();
        if (isTransaction) {
          left--;
          done++;
          isCrashed = left === 0 && !waitsForTransaction;
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
    crashAfter: (transactions) => {
      left = transactions;
      done = 0;
      waitsForTransaction = false;
      isCrashed = transactions === 0;
    },
    crashAtTransactionAfter: (transactions) => {
      left = transactions;
      done = 0;
      waitsForTransaction = true;
    },
    stallAt: (write, meanwhile) => {
      stall = { at: write, meanwhile };
    },
    restart: () => {
      stall = undefined;
      left = undefined;
      isCrashed = false;
    },
  };
}

/** A client whose queries without a limit return pages of one item, as items of 1 MB may cause. */
export function pagingClient(): DynamoDBClient {
  const client = engineClient();
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== QueryCommand.name) return await next(args);
        const input = { Limit: 1, ...(args.input as QueryCommandInput) };
        return await next({ ...args, input });
      },
    { step: 'initialize', name: 'paging' },
  );
  return client;
}

function isWrite(command: string | undefined): boolean {
  return /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/.test(command ?? '');
}

function crashed(): InternalServerError {
  return new InternalServerError({ message: 'The process crashed.', $metadata: {} });
}
