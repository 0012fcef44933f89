import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A request of DynamoDB as it is about to be sent. */
export interface Outgoing {
  readonly command: string;
  /** The partition key it is about; empty where it names none. */
  readonly collection: string;
}

/** A request that stands still, as where a process is frozen or a network holds its breath. */
export interface Pause {
  /** Resolves once the request is there. */
  readonly reached: Promise<void>;
  goOn(): void;
}

/** A client of DynamoDB of which single requests can be held up. To be destroyed by who asked for it. */
export interface PauseClient {
  readonly client: DynamoDBClient;
  /** Holds up the next request of this kind. */
  pauseNext(isMeant: (request: Outgoing) => boolean): Pause;
}

export function startPauses(): PauseClient {
  const client = engineClient();
  let next: { isMeant: (request: Outgoing) => boolean; hold: () => Promise<void> } | undefined;
  client.middlewareStack.add(
    (handle, context) => async (args) => {
      const request = { command: context.commandName ?? '', collection: collectionOf(args.input) };
      if (next?.isMeant(request)) {
        const { hold } = next;
        next = undefined;
        await hold();
      }
      return await handle(args);
    },
    { step: 'initialize', name: 'pauses' },
  );
  return {
    client,
    pauseNext: (isMeant) => {
      let reach = () => {};
      let goOn = () => {};
      const reached = new Promise<void>((resolve) => {
        reach = resolve;
      });
      const gone = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const hold = async () => {
        reach();
        await gone;
      };
      next = { isMeant, hold };
      return { reached, goOn: () => goOn() };
    },
  };
}

function collectionOf(input: object): string {
  const {
    Item,
    Key = Item,
    ExpressionAttributeValues: values,
  } = input as {
    Item?: Record<string, { S?: string }>;
    Key?: Record<string, { S?: string }>;
    ExpressionAttributeValues?: Record<string, { S?: string }>;
  };
  return Key?.['pk']?.S ?? values?.[':pk']?.S ?? values?.[':log']?.S ?? '';
}
