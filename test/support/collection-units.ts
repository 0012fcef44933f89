import {
  type ConsumedCapacity,
  type DynamoDBClient,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';

/** What one item collection had to do. */
export interface CollectionLoad {
  readonly read: number;
  readonly write: number;
}

/** What the service gives one item collection in a second, whatever a table may do in all. */
const WRITE_UNITS_PER_SECOND = 1000;
const READ_UNITS_PER_SECOND = 3000;

/**
 * Counts capacity units by item collection. Each gets so many a second and makes whatever is above
 * wait, so the busiest one says how long some work takes at least, however many clients do it: time
 * is counted, not spent.
 */
export class CollectionUnits {
  #loads = new Map<string, { read: number; write: number }>();

  constructor(client: DynamoDBClient) {
    client.middlewareStack.add(
      (next, { commandName = '' }) =>
        async (args) => {
          try {
            const answer = await next(args);
            const { ConsumedCapacity: consumed } = answer.output as {
              ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[];
            };
            this.#charge(commandName, args.input, unitsOf(consumed));
            return answer;
          } catch (error) {
            this.#charge(commandName, args.input, 0);
            throw error;
          }
        },
      { step: 'initialize', name: 'collectionUnits' },
    );
  }

  /** What each collection had to do since the last look. */
  take(): ReadonlyMap<string, CollectionLoad> {
    const loads = this.#loads;
    this.#loads = new Map();
    return loads;
  }

  #charge(command: string, input: unknown, reported: number): void {
    const collections = collectionsOf(input);
    const isWrite = /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/.test(command);
    // A transaction costs two units an item at least, which not every engine reports, and a failed
    // condition one.
    const isTransaction = command === TransactWriteItemsCommand.name;
    const least = collections.length * (isTransaction ? 2 : 1);
    const units = isWrite ? Math.max(reported, least) : reported;
    for (const collection of collections) {
      const load = this.#loads.get(collection) ?? { read: 0, write: 0 };
      load[isWrite ? 'write' : 'read'] += units / collections.length;
      this.#loads.set(collection, load);
    }
  }
}

/** How long work takes at least that puts these loads on collections, seconds. */
export function secondsFor(loads: ReadonlyMap<string, CollectionLoad>): number {
  const seconds = [...loads.values()].map(({ read, write }) =>
    Math.max(write / WRITE_UNITS_PER_SECOND, read / READ_UNITS_PER_SECOND),
  );
  return Math.max(0, ...seconds);
}

function unitsOf(consumed: ConsumedCapacity | ConsumedCapacity[] | undefined): number {
  const list = [consumed ?? []].flat();
  return list.reduce((sum, entry) => sum + (entry.CapacityUnits ?? 0), 0);
}

/** The collections of messages that a request names, one for each item. */
function collectionsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const text = (inner as { S?: unknown } | undefined)?.S;
    const isKey = name === 'pk' || name === ':log' || name === ':pk';
    if (!isKey || typeof text !== 'string') return collectionsOf(inner);
    return /^.{8}\.\d/.test(text) ? [text] : [];
  });
}
