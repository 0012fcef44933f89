import { sequenceNumberOf } from '../../domain/blocks/block.ts';
import { type Log, logOf } from '../../domain/blocks/log.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';
import { addTo } from '../../domain/group-by.ts';
import type { Message, OutgoingMessage } from '../../domain/messages/message.ts';
import { messageSize } from '../../domain/messages/outgoing-rules.ts';
import {
  requireOnePartition,
  type TransactedEntity,
  transactedPartition,
} from '../../domain/messages/transaction-rules.ts';
import type { OperationOutcome, TransactionOperation } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findEntity } from '../entity-lookup.ts';
import type { Reservation } from '../ports/duplicates.ts';
import type { LogBatch } from '../ports/publication.ts';
import type { TransactedSends, TransactionFacts } from '../ports/transactions.ts';
import { obstacleAt, withReason } from '../routing/obstacles.ts';
import { route } from '../routing/route.ts';
import type { Detection } from '../send/deduplication.ts';
import {
  completeMessages,
  prepareMessages,
  requireSendPath,
  storesSentMessages,
} from '../send/send.ts';
import { inOperation } from './error-context.ts';

/** The entity through which a transaction sends to others. */
export interface Via {
  readonly key: string;
  readonly entity: TransactedEntity;
  /** The partition in which messages are settled. */
  readonly partition: number;
  /** The log for messages that their destination does not accept (semantics U8). */
  readonly transferDeadLetters: Log;
}

/** The messages that a transaction sends to one entity, by one operation or several. */
export interface EntitySend {
  readonly entity: Entity;
  /** The first of the operations. */
  readonly operationIndex: number;
  readonly log: Log;
  /** The messages that the entity stores, in order. */
  readonly appended: readonly PlacedMessage[];
  /** The messages that it forwards or routes at once. */
  readonly routed: readonly Message[];
  /** The messages that it does not accept; they stay in the entity through which they are sent. */
  readonly stuck: readonly Message[];
  /** Set if the entity detects duplicates. */
  readonly detection: Detection | undefined;
  /** Of the appended and routed messages, if the entity detects duplicates. */
  readonly reservation?: Reservation | undefined;
}

/** A message and its index in the request. */
interface PlacedMessage {
  readonly operationIndex: number;
  readonly index: number;
  readonly message: Message;
}

interface Destination {
  readonly entity: Entity;
  readonly batches: readonly {
    readonly operationIndex: number;
    readonly messages: readonly OutgoingMessage[];
  }[];
}

/**
 * Checks and completes the messages for each destination. `via` = the entity whose messages are settled, through which
 * those for other entities go. Throws what a send throws, with the index of the operation.
 */
export async function prepareSends(
  dependencies: BrokerDependencies,
  operations: readonly TransactionOperation[],
  via: Via | undefined,
  now: number,
): Promise<readonly EntitySend[]> {
  const destinations = await findDestinations(dependencies, operations);
  const viaKey = via?.key ?? destinations[0]?.entity.key;
  const partitions = choosePartitions(destinations, via, viaKey);
  return await Promise.all(
    destinations.map(async (destination, i) => {
      const { entity, batches } = destination;
      const sending = {
        entity,
        operationIndex: batches[0]?.operationIndex ?? 0,
        log: logOf(entity, 'main', partitions[i] ?? 0),
      };
      const isVia = entity.key === viaKey;
      if (via !== undefined && !isVia) {
        const stuck = await undeliverableTo(dependencies, destination);
        if (stuck !== undefined) return { ...sending, ...NOTHING, stuck };
      }
      const prepared = await Promise.all(
        batches.map(({ operationIndex, messages }) =>
          inOperation(operationIndex, async () => {
            const { messages: taken, detection } = await prepareMessages(
              dependencies,
              entity,
              messages,
            );
            return taken.map((message, index) => ({ operationIndex, index, message, detection }));
          }),
        ),
      );
      const { all, detection } = withoutRepeats(
        prepared.flat(),
        isVia ? (message) => message : withFirstHop,
      );
      const staysIn = ({ message: { scheduledEnqueueAt = 0 } }: PlacedMessage) =>
        storesSentMessages(entity) || scheduledEnqueueAt > now;
      return {
        ...sending,
        appended: all.filter(staysIn),
        routed: all.filter((one) => !staysIn(one)).map(({ message }) => message),
        stuck: [],
        detection,
      };
    }),
  );
}

/** The messages of a destination that accepts none. */
const NOTHING = { appended: [], routed: [], detection: undefined } as const;

/**
 * The messages for a destination that is disabled or full, as dead letters with the reason. The transaction does not
 * fail: the transfer to another entity is not part of it (semantics U8). Throws for messages that the destination never
 * accepts.
 */
async function undeliverableTo(
  dependencies: BrokerDependencies,
  { entity, batches }: Destination,
): Promise<readonly Message[] | undefined> {
  const taken = await Promise.all(
    batches.map(({ operationIndex, messages }) =>
      inOperation(
        operationIndex,
        async () => completeMessages(dependencies, entity, messages).messages,
      ),
    ),
  );
  const messages = taken.flat();
  const bytes = messages.reduce((sum, message) => sum + messageSize(message), 0);
  const obstacle = await obstacleAt(dependencies, entity, bytes);
  return obstacle && messages.map((message) => withReason(withFirstHop(message), obstacle));
}

/** Leaves out messages that the transaction itself repeats, if the entity detects duplicates. */
function withoutRepeats(
  prepared: readonly (PlacedMessage & { readonly detection: Detection | undefined })[],
  change: (message: Message) => Message,
): { readonly all: readonly PlacedMessage[]; readonly detection: Detection | undefined } {
  const keys = new Map<Message, string>();
  const seen = new Set<string>();
  const all: PlacedMessage[] = [];
  for (const { operationIndex, index, message: preparedOne, detection } of prepared) {
    const key = detection?.keys.get(preparedOne);
    if (key !== undefined && seen.has(key)) continue;
    const message = change(preparedOne);
    all.push({ operationIndex, index, message });
    if (key === undefined) continue;
    seen.add(key);
    keys.set(message, key);
  }
  const detection = prepared.find((one) => one.detection !== undefined)?.detection;
  return { all, detection: detection && { ...detection, keys } };
}

/** The transfer through the other entity counts as one hop of the message. */
function withFirstHop(message: Message): Message {
  return { ...message, hops: 1 };
}

/** Throws MessagingEntityNotFound for a destination that does not exist (semantics U9). */
async function findDestinations(
  dependencies: BrokerDependencies,
  operations: readonly TransactionOperation[],
): Promise<readonly Destination[]> {
  const batches = new Map<string, Destination['batches'][number][]>();
  const entities = new Map<string, Entity>();
  for (const [operationIndex, operation] of operations.entries()) {
    if (operation.kind !== 'send') continue;
    const { path, messages } = operation;
    const entity = await inOperation(operationIndex, () => {
      requireSendPath(path);
      return findEntity(dependencies, path);
    });
    entities.set(path.key, entity);
    addTo(batches, path.key, { operationIndex, messages });
  }
  return Array.from(entities, ([key, entity]) => ({ entity, batches: batches.get(key) ?? [] }));
}

/**
 * The partition for the messages of each destination. Messages that go via an entity must have the partition in which
 * its messages are settled (semantics U10, U12). Throws InvalidOperation.
 */
function choosePartitions(
  destinations: readonly Destination[],
  via: Via | undefined,
  viaKey: string | undefined,
): readonly number[] {
  const outgoing = ({ batches }: Destination) => batches.flatMap(({ messages }) => messages);
  const others = destinations.filter(({ entity }) => entity.key !== viaKey).flatMap(outgoing);
  const partitions = destinations.map((destination) => {
    const isVia = destination.entity.key === viaKey;
    return transactedPartition(
      shapeOf(destination.entity),
      outgoing(destination),
      isVia ? others : [],
    );
  });
  if (via === undefined) return partitions;
  const own = destinations.findIndex(({ entity }) => entity.key === viaKey);
  if (own >= 0) requireOnePartition(via.entity.name, [via.partition, partitions[own] ?? 0]);
  else if (others.length > 0) {
    const chosen = transactedPartition(via.entity, [], others);
    requireOnePartition(via.entity.name, [via.partition, chosen]);
  }
  return partitions;
}

function shapeOf(entity: Entity): TransactedEntity {
  const { name, description } = entity;
  const requiresSession = description.kind === 'queue' && description.requiresSession;
  return { name, partitions: partitionsOf(entity), requiresSession };
}

/** Takes sequence numbers and routes messages. If the transaction is refused later, its numbers stay unused. */
export async function takeSends(
  dependencies: BrokerDependencies,
  sends: readonly EntitySend[],
  via: Via | undefined,
): Promise<TransactedSends> {
  const batches = await Promise.all(
    sends
      .filter(({ routed }) => routed.length > 0)
      .map(({ entity, operationIndex, routed, log: { partition } }) =>
        inOperation(operationIndex, () => route(dependencies, entity, routed, 'sent', partition)),
      ),
  );
  return {
    appended: storedIn(sends).map(({ log, appended }) => ({
      log,
      messages: appended.map(({ message }) => message),
    })),
    batches: [...batches.flat(), ...(await deadLetterStuck(dependencies, sends, via))],
  };
}

/** The batch of undeliverable messages for the transfer dead-letter queue of the entity through which they are sent. */
async function deadLetterStuck(
  dependencies: BrokerDependencies,
  sends: readonly EntitySend[],
  via: Via | undefined,
): Promise<readonly LogBatch[]> {
  const messages = sends.flatMap(({ stuck }) => stuck);
  if (via === undefined || messages.length === 0) return [];
  const to = via.transferDeadLetters;
  const first = await dependencies.messages.takeNumbers(to, messages, messages.length);
  const copies = messages.map((message, i) => ({ sequence: first + BigInt(i), message }));
  return [{ to, copies }];
}

function storedIn(sends: readonly EntitySend[]): readonly EntitySend[] {
  return sends.filter(({ appended }) => appended.length > 0);
}

/** The outcome of each operation. */
export function outcomesOf(
  operations: readonly TransactionOperation[],
  sends: readonly EntitySend[],
  { numbers, lockedUntil }: TransactionFacts,
): readonly OperationOutcome[] {
  const known = new Map<string, bigint>();
  for (const [i, { log, appended }] of storedIn(sends).entries()) {
    for (const [j, { operationIndex, index }] of appended.entries()) {
      const sequence = numbers[i]?.[j];
      if (sequence === undefined) continue;
      known.set(`${operationIndex}.${index}`, sequenceNumberOf(log.partition, sequence));
    }
  }
  return operations.map((operation, operationIndex): OperationOutcome => {
    if (operation.kind === 'settle') return { kind: 'settled' };
    if (operation.kind === 'renew') return { kind: 'renewed', lockedUntil };
    const sequenceNumbers = operation.messages.map((_, index) =>
      known.get(`${operationIndex}.${index}`),
    );
    return { kind: 'sent', sequenceNumbers };
  });
}
