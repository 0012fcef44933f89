import type { EntityCounts, MessageCounts } from '../../broker/ports/management.ts';
import { type BlockRules, surveyBlock } from '../../domain/blocks/block.ts';
import { logOf } from '../../domain/blocks/log.ts';
import { policyOf } from '../../domain/blocks/log-policy.ts';
import { type SessionLockState, UNLOCKED_SESSION } from '../../domain/blocks/session.ts';
import type { Clock } from '../../domain/clock.ts';
import { type Entity, partitionNumbers, partitionsOf } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import type { Item, Table } from '../dynamodb/table.ts';
import { rulesOf, subscriptionsOf, TOP_LEVEL_PREFIX } from '../schema/entity-keys.ts';
import { headerKey, logKey, sessionOf } from '../schema/message-keys.ts';
import { readAllSessions } from '../sessions/list.ts';
import type { DynamoEntityStore } from './entity-store.ts';

/**
 * Counts what is stored by reading it, so a count costs nothing until it is asked for. Expired messages count until
 * they are removed (semantics #A4), and the bytes of a block that lost some of its messages are estimated.
 */
export class DynamoCounts implements EntityCounts {
  readonly #table: DocumentTable;
  readonly #messages: Table;
  readonly #namespace: string;
  readonly #entities: DynamoEntityStore;
  readonly #clock: Clock;
  readonly #usedAt: (entity: Entity) => number | undefined;

  constructor(
    table: DocumentTable,
    messages: Table,
    namespace: string,
    entities: DynamoEntityStore,
    clock: Clock,
    usedAt: (entity: Entity) => number | undefined,
  ) {
    this.#table = table;
    this.#messages = messages;
    this.#namespace = namespace;
    this.#entities = entities;
    this.#clock = clock;
    this.#usedAt = usedAt;
  }

  async messages(entities: readonly Entity[]): Promise<readonly MessageCounts[]> {
    return await Promise.all(
      entities.map(async (entity) => {
        const counts = await this.#ofEntity(entity);
        return { ...counts, size: counts.size + (await this.#sizeOfChildren(entity)) };
      }),
    );
  }

  /** Counts all partitions together (semantics #P12). */
  async #ofEntity(entity: Entity): Promise<MessageCounts> {
    const { description } = entity;
    const partitions = partitionNumbers(entity);
    const count = async (subQueue: SubQueue): Promise<Tally> => {
      if (description.kind === 'topic' && subQueue !== 'main') return NOTHING;
      const tallies = partitions.map((partition) => this.#ofLog(entity, subQueue, partition));
      return (await Promise.all(tallies)).reduce(add, NOTHING);
    };
    const [main, deadLetter, transfer, accessedAt] = await Promise.all([
      count('main'),
      count('deadLetter'),
      count('transferDeadLetter'),
      this.#lastUse(entity, partitions),
    ]);
    return {
      // Dead letters count towards the size (semantics D1, #159).
      size: main.bytes + deadLetter.bytes + transfer.bytes,
      // What a topic holds is scheduled, or counted in its subscriptions (semantics N24).
      active: description.kind === 'topic' ? 0 : main.active,
      deadLetter: deadLetter.active + main.exhausted,
      scheduled: main.scheduled,
      // Messages are forwarded as they are sent, so none waits for its transfer (semantics #121).
      transfer: 0,
      transferDeadLetter: transfer.active,
      ...(accessedAt === 0 ? {} : { accessedAt }),
    };
  }

  /** The last send, or the last use that was stored or that this process saw, epoch ms; 0 = none. */
  async #lastUse(entity: Entity, partitions: readonly number[]): Promise<number> {
    const { accessedAt = 0 } = entity;
    const headers = await Promise.all(
      partitions.map((partition) =>
        this.#messages.get(headerKey(entity.id, partition), { consistent: false }),
      ),
    );
    const sent = headers.map((header) => Number(header?.['a']?.N ?? 0));
    return Math.max(accessedAt, this.#usedAt(entity) ?? 0, ...sent);
  }

  async #ofLog(entity: Entity, subQueue: SubQueue, partition: number): Promise<Tally> {
    const { description } = entity;
    const rules =
      description.kind === 'topic'
        ? undefined
        : policyOf({ ...entity, description }, subQueue, partition).rules;
    const now = this.#clock.now();
    const log = logOf(entity, subQueue, partition);
    const sessions =
      log.sessions === undefined
        ? undefined
        : await readAllSessions({ table: this.#messages, clock: this.#clock }, log);
    let tally: Tally = { ...NOTHING, bytes: sessions?.stateBytes ?? 0 };
    const items = this.#messages.all({
      KeyConditionExpression: 'pk = :log',
      ExpressionAttributeValues: { ':log': { S: logKey(log) } },
      ConsistentRead: true,
    });
    for await (const item of items) {
      tally = add(tally, tallyOf(item, rules && inSessionOf(item, rules, sessions?.locks), now));
    }
    return tally;
  }

  /** Bytes in an entity; for a topic with all its subscriptions. */
  async sizeOf(entity: Entity): Promise<number> {
    const { size } = await this.#ofEntity(entity);
    return size + (await this.#sizeOfChildren(entity));
  }

  async #sizeOfChildren(entity: Entity): Promise<number> {
    let size = 0;
    if (entity.description.kind !== 'topic') return size;
    for await (const child of this.#entities.subscriptionsOf(entity)) {
      size += (await this.#ofEntity(child)).size;
    }
    return size;
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
      const { kind } = document;
      if (kind === 'sql' || kind === 'correlation') counts[kind]++;
    }
    return counts;
  }
}

interface Tally {
  readonly active: number;
  /** Messages without a delivery left: dead letters that were not moved yet (semantics #24). */
  readonly exhausted: number;
  readonly scheduled: number;
  readonly bytes: number;
}

const NOTHING: Tally = { active: 0, exhausted: 0, scheduled: 0, bytes: 0 };

function add(a: Tally, b: Tally): Tally {
  return {
    active: a.active + b.active,
    exhausted: a.exhausted + b.exhausted,
    scheduled: a.scheduled + b.scheduled,
    bytes: a.bytes + b.bytes,
  };
}

/** The rules for a block, of its session if it has one. */
function inSessionOf(
  item: Item,
  rules: BlockRules,
  sessions: ReadonlyMap<string, SessionLockState> | undefined,
): BlockRules {
  const sessionId = sessionOf(item['sk']?.S ?? '');
  if (sessions === undefined || sessionId === undefined) return rules;
  return { ...rules, session: sessions.get(sessionId) ?? UNLOCKED_SESSION };
}

/**
 * Active = available, locked and deferred messages (semantics N22), and scheduled ones that have come due.
 */
function tallyOf(item: Item, rules: BlockRules | undefined, now: number): Tally {
  const block = fromBlockItem(item);
  const { slots, payload, section } = block;
  // For a partly consumed block, the estimated share that is left.
  const span = Math.max(0, ...slots.keys()) + 1;
  const bytes = Math.ceil((payload.bytes * slots.size) / span);
  if (section === 'scheduled') {
    return block.enqueuedAt > now
      ? { ...NOTHING, scheduled: slots.size, bytes }
      : { ...NOTHING, active: slots.size, bytes };
  }
  const isOpen = section !== 'deferred' && rules !== undefined;
  const exhausted = isOpen ? surveyBlock(block, rules, now).exhausted.length : 0;
  return { ...NOTHING, active: slots.size - exhausted, exhausted, bytes };
}
