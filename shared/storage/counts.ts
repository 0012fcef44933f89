import type { EntityCounts, MessageCounts, StoredRule } from '../broker/management-ports.ts';
import { type Entity, partitionsOf } from '../domain/entity.ts';
import { logOf } from '../domain/log.ts';
import { fromBlockItem } from './block-item.ts';
import type { DocumentTable } from './documents.ts';
import type { Item, Table } from './dynamo.ts';
import { rulesOf, subscriptionsOf, TOP_LEVEL_PREFIX } from './entity-keys.ts';
import type { DynamoEntityStore } from './entity-store.ts';
import { logKey } from './keys.ts';

/** Counts by reading what is there: exact, and paid for only by those who ask. */
export class DynamoCounts implements EntityCounts {
  readonly #table: DocumentTable;
  readonly #messages: Table;
  readonly #namespace: string;
  readonly #entities: DynamoEntityStore;

  constructor(
    table: DocumentTable,
    messages: Table,
    namespace: string,
    entities: DynamoEntityStore,
  ) {
    this.#table = table;
    this.#messages = messages;
    this.#namespace = namespace;
    this.#entities = entities;
  }

  async messages(entities: readonly Entity[]): Promise<readonly MessageCounts[]> {
    return await Promise.all(entities.map((entity) => this.#ofEntity(entity)));
  }

  async #ofEntity(entity: Entity): Promise<MessageCounts> {
    const partitions = Array.from({ length: partitionsOf(entity) }, (_, partition) => partition);
    const count = async (subQueue: 'main' | 'deadLetter' | 'transferDeadLetter') => {
      const tallies = await Promise.all(
        partitions.map((partition) => this.#ofLog(logKey(logOf(entity, subQueue, partition)))),
      );
      return tallies.reduce(add, NOTHING);
    };
    const isTopic = entity.description.kind === 'topic';
    const [main, deadLetter, transfer] = await Promise.all([
      count('main'),
      isTopic ? NOTHING : count('deadLetter'),
      isTopic ? NOTHING : count('transferDeadLetter'),
    ]);
    return {
      size: main.bytes + deadLetter.bytes + transfer.bytes,
      active: main.active,
      deadLetter: deadLetter.active,
      scheduled: main.scheduled,
      transfer: 0,
      transferDeadLetter: transfer.active,
    };
  }

  async #ofLog(collection: string): Promise<Tally> {
    let tally = NOTHING;
    let start: Item | undefined;
    do {
      const page = await this.#messages.query({
        KeyConditionExpression: 'pk = :log',
        ExpressionAttributeValues: { ':log': { S: collection } },
        ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        ConsistentRead: true,
      });
      tally = page.items.map(tallyOf).reduce(add, tally);
      start = page.lastKey;
    } while (start !== undefined);
    return tally;
  }

  async entities(): Promise<{ readonly total: number; readonly partitioned: number }> {
    let total = 0;
    let partitioned = 0;
    for await (const document of this.#table.all(this.#namespace, TOP_LEVEL_PREFIX)) {
      total++;
      if (partitionsOf(document as unknown as Entity) > 1) partitioned++;
    }
    return { total, partitioned };
  }

  async subscriptions(topics: readonly string[]): Promise<readonly number[]> {
    return await Promise.all(topics.map((topic) => this.#subscriptionsOf(topic)));
  }

  async #subscriptionsOf(key: string): Promise<number> {
    const topic = await this.#entities.read(key);
    if (topic === undefined) return 0;
    let count = 0;
    for await (const _ of this.#table.all(subscriptionsOf(this.#namespace, topic.id))) count++;
    return count;
  }

  async filters(key: string): Promise<{ readonly sql: number; readonly correlation: number }> {
    const counts = { sql: 0, correlation: 0 };
    const topic = await this.#entities.read(key);
    if (topic === undefined) return counts;
    for await (const document of this.#table.all(rulesOf(this.#namespace, topic.id))) {
      const { rule } = document as unknown as StoredRule;
      const { kind } = rule.filter;
      if (kind === 'sql' || kind === 'correlation') counts[kind]++;
    }
    return counts;
  }
}

interface Tally {
  readonly active: number;
  readonly scheduled: number;
  readonly bytes: number;
}

const NOTHING: Tally = { active: 0, scheduled: 0, bytes: 0 };

function add(a: Tally, b: Tally): Tally {
  return {
    active: a.active + b.active,
    scheduled: a.scheduled + b.scheduled,
    bytes: a.bytes + b.bytes,
  };
}

/** Active = whatever can be or is being received, deferred messages included (semantics §4.4). */
function tallyOf(item: Item): Tally {
  const { slots, payload, store } = fromBlockItem(item);
  const isScheduled = store === 'scheduled';
  return {
    active: isScheduled ? 0 : slots.size,
    scheduled: isScheduled ? slots.size : 0,
    bytes: slots.size === 0 ? 0 : payload.bytes,
  };
}
