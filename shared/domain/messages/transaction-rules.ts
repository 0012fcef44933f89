import { type BrokerError, invalidOperation } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import { type OutgoingMessage, orderingKeyOf } from './message.ts';
import { partitionOfKey } from './partition.ts';

/** Throws InvalidOperation if a transaction sends more messages than it may (semantics #130). */
export function requireTransactionSize(messages: number): void {
  if (messages <= LIMITS.transactionMessages) return;
  throw invalidOperation(
    `Can't send more than ${LIMITS.transactionMessages} messages in a single transaction`,
  );
}

/** The properties of an entity that matter to a transaction. */
export interface TransactedEntity {
  readonly name: string;
  readonly partitions: number;
  readonly requiresSession: boolean;
}

type Keys = Pick<OutgoingMessage, 'messageId' | 'sessionId' | 'partitionKey' | 'viaPartitionKey'>;

/**
 * The one partition of an entity to which a transaction sends its messages. In a partitioned entity every message
 * must have a key, where sessions are required a SessionId (semantics U11), and all must have the same key (semantics
 * U10). That includes messages to other entities that are sent via this one; their key is the ViaPartitionKey
 * (semantics U12). Throws InvalidOperation.
 */
export function transactedPartition(
  entity: TransactedEntity,
  sentTo: readonly Keys[],
  sentVia: readonly Keys[] = [],
): number {
  if (entity.partitions === 1) return 0;
  const keys = sentTo.map((message) => {
    const { sessionId, messageId } = message;
    if (entity.requiresSession && sessionId === undefined) throw withoutKey(entity, 'a SessionId');
    const key = orderingKeyOf(message, entity) ?? messageId;
    if (key === undefined) throw withoutKey(entity, 'a SessionId, PartitionKey or MessageId');
    return key;
  });
  const viaKeys = sentVia.map(({ viaPartitionKey: key }) => {
    if (key === undefined) throw withoutKey(entity, 'a ViaPartitionKey');
    return key;
  });
  return partitionOfOne(entity, [...keys, ...viaKeys]);
}

function withoutKey({ name }: TransactedEntity, what: string): BrokerError {
  return invalidOperation(
    `Every message that a transaction sends to, or via, the partitioned entity '${name}' must have ${what}.`,
  );
}

/** Throws InvalidOperation if the keys differ (semantics U10), and so for two sessions (semantics #133, #P10, U11). */
function partitionOfOne(
  { name, partitions }: TransactedEntity,
  [first = '', ...others]: readonly string[],
): number {
  const other = others.find((key) => key !== first);
  if (other !== undefined) {
    throw invalidOperation(
      `All messages that a transaction sends to, or via, the partitioned entity '${name}' must have the same key; '${first}' and '${other}' differ.`,
    );
  }
  return partitionOfKey(first, partitions);
}

/** Throws InvalidOperation if a transaction uses more than one partition of an entity. */
export function requireOnePartition(name: string, partitions: readonly number[]): void {
  if (new Set(partitions).size <= 1) return;
  throw invalidOperation(
    `A transaction cannot span several partitions of the partitioned entity '${name}': its messages must have one key.`,
  );
}
