import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** Which requests of a closed partition fail. */
export type Failing = 'all' | 'writes' | 'reads';

/** A DynamoDB client that refuses requests of chosen partitions of entities. */
export interface PartitionClient {
  readonly client: DynamoDBClient;
  /** From now on requests of these partitions, of any entity, fail; an empty list ends this. */
  close(partitions: readonly number[], failing?: Failing): void;
  /** From now on writes of blocks are carried out without an answer, and lookups get no answer either. */
  loseAnswers(isLost: boolean): void;
  /** The number of requests to each partition (headers, logs and payloads) since the last call. */
  requests(): ReadonlyMap<number, number>;
}

const COLLECTION = /^.{8}\.(\d+)(?:p|[mdt]\d+)?$/;
const BLOCKS = /^.{8}\.\d+[mdt]\d+$/;

/** Throttles the requests that DynamoDB throttles if a partition is overloaded. */
export function partitionClient(): PartitionClient {
  const client = engineClient();
  client.config.maxAttempts = async () => 1;
  let closed: ReadonlySet<number> = new Set();
  let failing: Failing = 'all';
  let isLost = false;
  let counts = new Map<number, number>();
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const collections = collectionsOf(args.input);
        const partitions = new Set(collections.flatMap(partitionOf));
        for (const one of partitions) counts.set(one, (counts.get(one) ?? 0) + 1);
        const isWrite = /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/.test(commandName);
        const isAffected = failing === 'all' || (failing === 'writes') === isWrite;
        if (isAffected && [...partitions].some((one) => closed.has(one))) throw throttled();
        const answer = await next(args);
        const isLookup = commandName === 'BatchGetItemCommand';
        if (isLost && (isWrite || isLookup) && collections.some((name) => BLOCKS.test(name)))
          throw lost();
        return answer;
      },
    { step: 'initialize', name: 'partitions' },
  );
  return {
    client,
    close: (partitions, what = 'all') => {
      closed = new Set(partitions);
      failing = what;
    },
    loseAnswers: (now) => {
      isLost = now;
    },
    requests: () => {
      const counted = counts;
      counts = new Map();
      return counted;
    },
  };
}

function partitionOf(collection: string): number[] {
  const digits = COLLECTION.exec(collection)?.[1];
  return digits === undefined ? [] : [Number(digits)];
}

/** All partition keys in a request. */
function collectionsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const text = (inner as { S?: unknown } | undefined)?.S;
    const isKey = name === 'pk' || name === ':log' || name === ':pk';
    return isKey && typeof text === 'string' ? [text] : collectionsOf(inner);
  });
}

function throttled(): Error {
  return new ProvisionedThroughputExceededException({
    message: 'The partition is closed.',
    $metadata: { httpStatusCode: 400 },
  });
}

function lost(): Error {
  return Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
}
