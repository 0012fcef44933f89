import {
  type DynamoDBClient,
  InternalServerError,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A client whose process can be made to die between two transactions. */
export interface CuttingClient {
  readonly client: DynamoDBClient;
  /** From now on so many more transactions happen, and after that nothing is written any more. */
  dieAfter(transactions: number): void;
  /** The same, but what is no transaction happens until the next transaction is tried. */
  dieAtTransactionAfter(transactions: number): void;
  /** At the write of this number, counted from 1 and from now on, the process stands still meanwhile. */
  stallAt(write: number, meanwhile: () => Promise<unknown>): void;
  /** The machine is up again, and does not stand still any more. */
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
  let isDead = false;
  let isPatient = false;
  let stall: { at: number; readonly meanwhile: () => Promise<unknown> } | undefined;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (isWrite(commandName) && stall !== undefined && --stall.at === 0) {
          await stall.meanwhile();
        }
        if (left === undefined || !isWrite(commandName)) return await next(args);
        const isTransaction = commandName === TransactWriteItemsCommand.name;
        if (left === 0 && (isDead || isTransaction)) isDead = true;
        if (isDead) throw died();
        if (isTransaction) {
          left--;
          done++;
          isDead = left === 0 && !isPatient;
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
      isPatient = false;
      isDead = transactions === 0;
    },
    dieAtTransactionAfter: (transactions) => {
      left = transactions;
      done = 0;
      isPatient = true;
    },
    stallAt: (write, meanwhile) => {
      stall = { at: write, meanwhile };
    },
    revive: () => {
      stall = undefined;
      left = undefined;
      isDead = false;
    },
  };
}

/** Where a query sets no limit, each page of its answer ends after one item, as one of 1 MB may. */
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

function died(): InternalServerError {
  return new InternalServerError({ message: 'The process died.', $metadata: {} });
}
