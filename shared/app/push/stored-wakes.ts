import type { ConsumerWakes } from '../../broker/ports/consumer-wakes.ts';
import { type Log, logOf } from '../../domain/blocks/log.ts';
import { parseConsumerKey } from '../../domain/consumers/consumer-key.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import type { ConsumerReference, ConsumerState } from '../../push/ports.ts';
import { wakeConsumer } from '../../push/wake-consumer.ts';
import { DynamoConsumerStates } from '../../storage/consumers/consumer-states.ts';
import { keyItem } from '../../storage/dynamodb/table.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../../storage/schema/consumer-marks.ts';
import { consumedBy, wakeNoteKey } from '../../storage/schema/message-keys.ts';
import { GARBAGE_AFTER } from '../../storage/schema/tables.ts';
import type { WakingStores } from '../namespace-settings.ts';

/** Starts a worker for a consumer, in a process of its own. */
export type StartWorker = (of: ConsumerReference) => Promise<void>;

/** The stores with which the states of consumers are read. */
export type StateStores = Pick<WakingStores, 'documents' | 'namespace' | 'clock'>;

/** Does not start a worker: for a process that only notes what others push. */
export const START_NONE: StartWorker = async () => {};

/** Queues whose consumers are woken at the same time. */
const WAKE_WIDTH = 8;
/** How long the note of messages that came back is kept, ms: it serves only the table's stream. */
const NOTE_MS = 3_600_000;

/**
 * Wakes consumers from processes that do not push: what they store is told by the messages table's stream, and what
 * they do not store they note. `start` starts a worker.
 */
export function storedWakes(stores: WakingStores, start: StartWorker): ConsumerWakes {
  const { table, dueWork, random, clock, background } = stores;
  return {
    available: (log, isStored) => {
      if (isStored) return;
      background(async () => {
        await table.put({
          ...keyItem(wakeNoteKey(log, random)),
          [CONSUMER_MARK]: { N: CONSUMER_MARKS.stored },
          [GARBAGE_AFTER]: { N: String(Math.ceil((clock.now() + NOTE_MS) / 1000)) },
        });
      });
    },
    availableAt: (log, instant) => {
      background(async () => dueWork.add(await mainLogOf(stores, log), instant));
    },
    wakeAll: async (entity) => {
      for (const of of enabledConsumers(entity)) await wakeOne(stores, start, of);
    },
  };
}

/** The log of the main queue, in which due work is noted. */
async function mainLogOf({ entities }: WakingStores, log: Log): Promise<Log> {
  const { sessionId: _, isConsumed: __, ...whole } = log;
  if (log.subQueue === 'main') return whole;
  const entity = await entities.find(log.entityKey);
  return entity === undefined ? whole : logOf(entity, 'main', 0);
}

/** The enabled consumers of an entity, or of one of its sub-queues. */
export function enabledConsumers(
  { id, key, consumers = {} }: Entity,
  subQueue?: SubQueue,
): readonly ConsumerReference[] {
  return Object.entries(consumers)
    .filter(([, one]) => one.enabled && (subQueue === undefined || one.subQueue === subQueue))
    .map(([consumer]) => ({ entityId: id, entityKey: key, consumer }));
}

/**
 * Wakes the consumers of queues in which items with their mark were stored or changed; `partitionKeys` = of these
 * items. A read unit for each entity. Throws ServiceBusy, ServiceTimeout.
 */
export async function wakeForItems(
  stores: StateStores,
  partitionKeys: Iterable<string>,
  start: StartWorker,
): Promise<void> {
  const queues = new Map<string, { readonly entityId: string; readonly subQueue: SubQueue }>();
  for (const partitionKey of partitionKeys) {
    const consumed = consumedBy(partitionKey);
    if (consumed) queues.set(`${consumed.entityId}/${consumed.subQueue}`, consumed);
  }
  const states = new DynamoConsumerStates(stores.documents, stores.namespace);
  await inParallel([...queues.values()], WAKE_WIDTH, async ({ entityId, subQueue }) => {
    for (const { of, state } of await states.consumersOf(entityId)) {
      const isOfQueue = parseConsumerKey(of.consumer)?.subQueue === subQueue;
      if (isOfQueue) await wakeOne(stores, start, of, state);
    }
  });
}

/** Wakes the enabled consumers of a consumer's queue, except for itself. Throws ServiceBusy, ServiceTimeout. */
export async function wakeOthers(
  stores: StateStores,
  entity: Entity,
  of: ConsumerReference,
  start: StartWorker,
): Promise<void> {
  const subQueue = parseConsumerKey(of.consumer)?.subQueue;
  for (const other of enabledConsumers(entity, subQueue)) {
    if (other.consumer !== of.consumer) await wakeOne(stores, start, other);
  }
}

async function wakeOne(
  { documents, namespace, clock }: StateStores,
  start: StartWorker,
  of: ConsumerReference,
  known?: ConsumerState,
): Promise<void> {
  const states = new DynamoConsumerStates(documents, namespace);
  const woken = await wakeConsumer(states, clock, of, known);
  if (woken.kind === 'start') await start(of);
}
