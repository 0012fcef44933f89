import { type DynamoDBClient, InternalServerError } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** Whether a process crashes before or after its last write. */
export type LastWrite = 'before it' | 'after it';

/** A DynamoDB client of a process that crashes at a chosen write. */
export interface CrashingClient {
  readonly client: DynamoDBClient;
  /**
   * Crashes before or after this write, counted from 1 and from now on; all later requests fail.
   * `meanwhile` runs just before that write.
   */
  crashAt(write: number, when: LastWrite, meanwhile?: () => Promise<unknown>): void;
  /** Restarts the process. Returns whether it had crashed. */
  restart(): boolean;
}

/** The caller destroys the client. */
export function crashingClient(): CrashingClient {
  const client = engineClient();
  // A crashed process does not retry, and tests do not wait for retries.
  client.config.maxAttempts = async () => 1;
  let end: { readonly at: number; readonly when: LastWrite } | undefined;
  let happens: (() => Promise<unknown>) | undefined;
  let writes = 0;
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        if (end === undefined) return await next(args);
        if (writes >= end.at) throw crashed();
        if (!WRITES.test(commandName)) {
          return await next(args);
        }
        writes++;
        if (writes < end.at) return await next(args);
        await happens?.();
        if (end?.when === 'after it') await Promise.allSettled([next(args)]);
        throw crashed();
      },
    { step: 'initialize', name: 'crashing' },
  );
  return {
    client,
    crashAt: (at, when, meanwhile) => {
      end = { at, when };
      happens = meanwhile;
      writes = 0;
    },
    restart: () => {
      const isCrashed = end !== undefined && writes >= end.at;
      end = undefined;
      return isCrashed;
    },
  };
}

/**
 * A client that sends each write twice, as if the first answer was lost. Unlike retries of the SDK, these are
 * new requests for the database.
 */
export function repeatingClient(): DynamoDBClient {
  const client = engineClient();
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        if (WRITES.test(commandName)) await Promise.allSettled([next(args)]);
        return await next(args);
      },
    { step: 'initialize', name: 'repeating' },
  );
  return client;
}

const WRITES = /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/;

function crashed(): InternalServerError {
  return new InternalServerError({ message: 'The process crashed.', $metadata: {} });
}
