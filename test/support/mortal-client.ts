import { type DynamoDBClient, InternalServerError } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** Whether the last write of a process still took effect. */
export type LastWrite = 'before it' | 'after it';

/** A client whose process can be made to die at any of its writes. */
export interface MortalClient {
  readonly client: DynamoDBClient;
  /**
   * It dies before or after that write from now on, counted from 1; nothing is done any more then.
   * `meanwhile` happens while that write is on its way.
   */
  dieAt(write: number, when: LastWrite, meanwhile?: () => Promise<unknown>): void;
  /** The machine is up again. Tells whether it had died. */
  revive(): boolean;
}

/** To be destroyed by whoever asked for it. */
export function mortalClient(): MortalClient {
  const client = engineClient();
  // A dead process does not try again, and tests do not wait for it.
  client.config.maxAttempts = async () => 1;
  let end: { readonly at: number; readonly when: LastWrite } | undefined;
  let happens: (() => Promise<unknown>) | undefined;
  let writes = 0;
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        if (end === undefined) return await next(args);
        if (writes >= end.at) throw died();
        if (!WRITES.test(commandName)) {
          return await next(args);
        }
        writes++;
        if (writes < end.at) return await next(args);
        await happens?.();
        if (end?.when === 'after it') await Promise.allSettled([next(args)]);
        throw died();
      },
    { step: 'initialize', name: 'mortal' },
  );
  return {
    client,
    dieAt: (at, when, meanwhile) => {
      end = { at, when };
      happens = meanwhile;
      writes = 0;
    },
    revive: () => {
      const isDead = end !== undefined && writes >= end.at;
      end = undefined;
      return isDead;
    },
  };
}

/**
 * A client that hears of each write only the second time: the first answer is lost. Unlike the
 * repetitions of the SDK, these look like new requests to the database.
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

function died(): InternalServerError {
  return new InternalServerError({ message: 'The process died.', $metadata: {} });
}
