import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** Which requests of a partition go wrong: all, those that write, or reads. */
export type Failing = 'all' | 'writes' | 'reads';

/** A client of DynamoDB to which single partitions of entities can be closed. */
export interface PartitionClient {
  readonly client: DynamoDBClient;
  /** From now on only these partitions, of any entity, refuse; without any, none does. */
  close(partitions: readonly number[], failing?: Failing): void;
  /** From now on every write of blocks is carried out, and its answer is lost; so are the answers of lookups. */
  loseAnswers(isLost: boolean): void;
  /** How many requests went to each partition since the last look, by their heads, logs and bodies. */
  requests(): ReadonlyMap<number, number>;
}

const COLLECTION = /^.{8}\.(\d+)(?:p|[mdt]\d+)?$/;
const BLOCKS = /^.{8}\.\d+[mdt]\d+$/;

/** Throttles what the service would throttle where a store behind a partition is busy. */
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

/** The partition keys that a request names, wherever they stand in it. */
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
