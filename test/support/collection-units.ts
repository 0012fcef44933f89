import {
  type ConsumedCapacity,
  type DynamoDBClient,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';

/** The capacity units of one item collection. */
export interface CollectionLoad {
  readonly read: number;
  readonly write: number;
}

/** DynamoDB's limits for one item collection, independent of the capacity of the table. */
const WRITE_UNITS_PER_SECOND = 1000;
const READ_UNITS_PER_SECOND = 3000;

/**
 * Counts capacity units by item collection. DynamoDB throttles each above its units per second, so the busiest
 * collection determines the minimum duration of some work, however many clients do it. The duration is
 * computed, without waiting.
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

  /** The load of each collection since the last call. */
  take(): ReadonlyMap<string, CollectionLoad> {
    const loads = this.#loads;
    this.#loads = new Map();
    return loads;
  }

  #charge(command: string, input: unknown, reported: number): void {
    const collections = collectionsOf(input);
    const isWrite = /^(?:Put|Update|Delete|BatchWrite|TransactWrite)/.test(command);
    // As in UnitMeter: an engine may report less than the service charges at any size of the items.
    const least = collections.length * leastUnits(command, isWrite, input);
    const units = Math.max(reported, least);
    for (const collection of collections) {
      const load = this.#loads.get(collection) ?? { read: 0, write: 0 };
      load[isWrite ? 'write' : 'read'] += units / collections.length;
      this.#loads.set(collection, load);
    }
  }
}

/** The minimum duration of work with these loads, in seconds. */
export function secondsFor(loads: ReadonlyMap<string, CollectionLoad>): number {
  const seconds = [...loads.values()].map(({ read, write }) =>
    Math.max(write / WRITE_UNITS_PER_SECOND, read / READ_UNITS_PER_SECOND),
  );
  return Math.max(0, ...seconds);
}

/** The least units that the service charges for an item, or for a query. */
function leastUnits(command: string, isWrite: boolean, input: unknown): number {
  if (command === TransactWriteItemsCommand.name) return 2;
  return isWrite || JSON.stringify(input).includes('"ConsistentRead":true') ? 1 : 0.5;
}

function unitsOf(consumed: ConsumedCapacity | ConsumedCapacity[] | undefined): number {
  const list = [consumed ?? []].flat();
  return list.reduce((sum, entry) => sum + (entry.CapacityUnits ?? 0), 0);
}

/** The item collections of messages in a request, one for each item. */
function collectionsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const text = (inner as { S?: unknown } | undefined)?.S;
    const isKey = name === 'pk' || name === ':log' || name === ':pk';
    if (!isKey || typeof text !== 'string') return collectionsOf(inner);
    return /^.{8}\.\d/.test(text) ? [text] : [];
  });
}
