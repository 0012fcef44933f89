import type {
  EntityCounts,
  FilterCounts,
  MessageCounts,
  RuntimeCounts,
} from '../../broker/ports/management.ts';
import { type BlockRules, surveyBlock } from '../../domain/blocks/block.ts';
import { type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf } from '../../domain/blocks/log-policy.ts';
import { type SessionLockState, UNLOCKED_SESSION } from '../../domain/blocks/session.ts';
import type { Clock } from '../../domain/clock.ts';
import { type Entity, partitionNumbers, requiresSession } from '../../domain/entities/entity.ts';
import { SUB_QUEUES, type SubQueue } from '../../domain/entities/entity-path.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import { Limiter } from '../../domain/turns/limiter.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import { type Item, type ItemKey, keyOfItem, type Table } from '../dynamodb/table.ts';
import { headerKey, sessionOf } from '../schema/message-keys.ts';
import { readSessions } from '../sessions/list.ts';
import { type CountBound, CountBudget, sharedBound } from './count-bound.ts';
import { FilterCounter } from './count-filters.ts';
import { add, countLog, NOTHING, type Tally } from './count-log.ts';
import type { DynamoEntityStore } from './entity-store.ts';
import { bytesLeftIn } from './exact-size.ts';

/** The dependencies of `DynamoCounts`. */
export interface CountsDependencies {
  /** The messages table. */
  readonly table: Table;
  /** The entities table. */
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly entities: DynamoEntityStore;
  readonly clock: Clock;
  /** The last use of an entity that this process saw, epoch ms. */
  readonly usedAt: (entity: Entity) => number | undefined;
}

/** Entities that are counted at a time. */
const WIDTH = 16;
/** Logs that a process counts at a time: each has a page of up to 1 MB in memory, which takes several there. */
const LOGS_AT_ONCE = 16;
/** Subscriptions of which one report reads the messages, for the sizes of topics. */
const SIZED_MAX = 32;
const SIZED_WIDTH = 8;
/** Sessions of a partition whose locks a count reads. */
const SESSIONS_MAX = 1000;

/**
 * Counts what is stored by reading it, so a count costs nothing until it is asked for, and never more than a bounded
 * read: see `countLog`. Expired messages count until they are removed (semantics #A4), and the bytes of a block that
 * lost some of its messages are estimated.
 */
export class DynamoCounts implements EntityCounts {
  readonly #dependencies: CountsDependencies;
  readonly #logs = new Limiter(LOGS_AT_ONCE);

  constructor(dependencies: CountsDependencies) {
    this.#dependencies = dependencies;
  }

  async of(entities: readonly Entity[], filters = false): Promise<readonly RuntimeCounts[]> {
    const { documents, namespace } = this.#dependencies;
    const topics = entities.filter(({ description }) => description.kind === 'topic').length;
    const sized = Math.max(1, Math.floor(SIZED_MAX / Math.max(1, topics)));
    const headers = await this.#headersOf(entities);
    const budget = new CountBudget();
    const counter = filters ? new FilterCounter(documents, namespace) : undefined;
    const share = { sized, budget, headers, counter };
    const counts = new Map<Entity, RuntimeCounts>();
    await inParallel(entities, WIDTH, async (entity) => {
      counts.set(entity, await this.#of(entity, share));
    });
    return entities.flatMap((entity) => counts.get(entity) ?? []);
  }

  async #of(entity: Entity, share: Share): Promise<RuntimeCounts> {
    const use = this.#useOf(entity, share);
    const [messages, below] = await Promise.all([
      this.#messagesOf(entity, use, share),
      this.#subscriptionsOf(entity, use, share),
    ]);
    const isEstimate = messages.isEstimate || below.isEstimate;
    return {
      messages: { ...messages, size: messages.size + below.bytes, isEstimate },
      subscriptions: below.count,
      ...(below.filters && { filters: below.filters }),
      ...(use.isEmpty && entity.description.kind === 'queue' ? { isUnused: true } : {}),
    };
  }

  /** Counts all partitions together (semantics #P12). */
  async #messagesOf(
    entity: Entity,
    { accessedAt, isEmpty }: Use,
    { budget }: Share,
  ): Promise<MessageCounts> {
    const isTopic = entity.description.kind === 'topic';
    const bound = sharedBound(partitionNumbers(entity).length, budget);
    const count = (subQueue: SubQueue) =>
      isEmpty ? NOTHING : this.#countAll(entity, subQueue, bound);
    const [main, deadLetter, transfer] = await Promise.all([
      count('main'),
      isTopic ? NOTHING : count('deadLetter'),
      isTopic ? NOTHING : count('transferDeadLetter'),
    ]);
    return {
      // Dead letters count towards the size (semantics D1, #159).
      size: main.bytes + deadLetter.bytes + transfer.bytes,
      // What a topic holds is scheduled, or counted in its subscriptions (semantics N24).
      active: isTopic ? 0 : main.active,
      deferred: main.deferred,
      deadLetter: deadLetter.active + main.exhausted,
      scheduled: main.scheduled,
      // Messages are forwarded as they are sent, so none waits for its transfer (semantics #121).
      transfer: 0,
      transferDeadLetter: transfer.active,
      isEstimate: main.isEstimate || deadLetter.isEstimate || transfer.isEstimate,
      ...(accessedAt === 0 ? {} : { accessedAt }),
    };
  }

  /** Counts one sub-queue in all partitions. */
  async #countAll(entity: Entity, subQueue: SubQueue, bound: CountBound): Promise<Tally> {
    const tallies = partitionNumbers(entity).map((partition) =>
      this.#logs.during('counts', () =>
        this.#countLog(entity, logOf(entity, subQueue, partition), bound),
      ),
    );
    return (await Promise.all(tallies)).reduce(add, NOTHING);
  }

  async #countLog(entity: Entity, log: Log, bound: CountBound): Promise<Tally> {
    const { table, clock } = this.#dependencies;
    const { description } = entity;
    const rules =
      description.kind === 'topic'
        ? undefined
        : policyOf({ ...entity, description }, log.subQueue, log.partition).rules;
    const now = clock.now();
    if (log.sessions === undefined) {
      return await countLog({ table, log, bound, tallyOf: (item) => tallyOf(item, rules, now) });
    }
    const { locks, stateBytes, areAll } = await readSessions({ table, clock }, log, SESSIONS_MAX);
    const inSession = (item: Item) => tallyOf(item, rules && inSessionOf(item, rules, locks), now);
    const tally = await countLog({ table, log, bound, tallyOf: inSession });
    return add(tally, { ...NOTHING, bytes: stateBytes, isEstimate: !areAll });
  }

  /** The partition headers of entities, by their partition keys. */
  async #headersOf(entities: readonly Entity[]): Promise<ReadonlyMap<string, Item>> {
    const keys = new Map<string, ItemKey>();
    for (const entity of entities) {
      for (const partition of partitionNumbers(entity)) {
        const key = headerKey(entity.id, partition);
        keys.set(key.pk, key);
      }
    }
    const items = await this.#dependencies.table.getMany([...keys.values()], { consistent: false });
    return new Map(items.map((item) => [keyOfItem(item).pk, item]));
  }

  #useOf(entity: Entity, { headers }: Share): Use {
    const { accessedAt = 0, description } = entity;
    const own = partitionNumbers(entity).map((partition) =>
      headers.get(headerKey(entity.id, partition).pk),
    );
    const sent = own.map((header) => Number(header?.['a']?.N ?? 0));
    // The messages of a subscription have the numbers of its topic. The state of a session needs no number.
    const hasNumbers = description.kind !== 'subscription' && !requiresSession(entity);
    const usedAt = this.#dependencies.usedAt(entity) ?? 0;
    return {
      accessedAt: Math.max(accessedAt, usedAt, ...sent),
      isEmpty: hasNumbers && own.every((header) => header?.['n']?.N === '0'),
    };
  }

  /** The number of a topic's subscriptions, and the bytes in them, from `sized` of them that lie far apart. */
  async #subscriptionsOf(
    topic: Entity,
    { isEmpty }: Use,
    { sized, budget, counter }: Share,
  ): Promise<Subscriptions> {
    if (topic.description.kind !== 'topic') return { count: 0, bytes: 0, isEstimate: false };
    const subscriptions: Entity[] = [];
    for await (const one of this.#dependencies.entities.subscriptionsOf(topic)) {
      subscriptions.push(one);
    }
    const filled = subscriptions.filter((one) => !isEmpty || requiresSession(one));
    const filters = await counter?.of(topic, subscriptions);
    const apart = Math.max(1, filled.length / sized);
    const chosen = filled.filter((_, i) => Math.floor(i % apart) === 0);
    const bound = sharedBound(chosen.length * partitionNumbers(topic).length, budget);
    let tally = NOTHING;
    await inParallel(chosen, SIZED_WIDTH, async (subscription) => {
      for (const subQueue of SUB_QUEUES) {
        const counted = await this.#countAll(subscription, subQueue, bound);
        tally = add(tally, counted);
      }
    });
    const share = filled.length / Math.max(1, chosen.length);
    const isEstimate = tally.isEstimate || chosen.length < filled.length;
    const bytes = Math.round(tally.bytes * share);
    return { count: subscriptions.length, bytes, isEstimate, filters };
  }
}

/** What one entity may read of what a report reads. */
interface Share {
  /** Of how many subscriptions of a topic the messages are read. */
  readonly sized: number;
  readonly budget: CountBudget;
  /** By partition key. */
  readonly headers: ReadonlyMap<string, Item>;
  /** Absent = filters are not asked for. */
  readonly counter: FilterCounter | undefined;
}

/** What the headers of an entity tell of its use. */
interface Use {
  /** The last send, or the last use that was stored or that this process saw, epoch ms; 0 = none. */
  readonly accessedAt: number;
  /** Whether it is certain that nothing was ever stored. */
  readonly isEmpty: boolean;
}

interface Subscriptions {
  readonly count: number;
  readonly bytes: number;
  readonly isEstimate: boolean;
  readonly filters?: FilterCounts | undefined;
}

/** The rules for a block, of its session if it has one. */
function inSessionOf(
  item: Item,
  rules: BlockRules,
  sessions: ReadonlyMap<string, SessionLockState>,
): BlockRules {
  const sessionId = sessionOf(item['sk']?.S ?? '');
  if (sessionId === undefined) return rules;
  return { ...rules, session: sessions.get(sessionId) ?? UNLOCKED_SESSION };
}

/**
 * Active = available, locked and deferred messages (semantics N22), and scheduled ones that have come due.
 */
function tallyOf(item: Item, rules: BlockRules | undefined, now: number): Tally {
  const block = fromBlockItem(item);
  const { slots, section } = block;
  const bytes = bytesLeftIn(block);
  if (section === 'scheduled') {
    return block.enqueuedAt > now
      ? { ...NOTHING, scheduled: slots.size, bytes }
      : { ...NOTHING, active: slots.size, bytes };
  }
  const deferred = section === 'deferred' ? slots.size : 0;
  const isOpen = section !== 'deferred' && rules !== undefined;
  const exhausted = isOpen ? surveyBlock(block, rules, now).exhausted.length : 0;
  return { ...NOTHING, active: slots.size - exhausted, deferred, exhausted, bytes };
}
