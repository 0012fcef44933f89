import { BrokerError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import { type OutgoingMessage, orderingKeyOf } from './message.ts';
import { partitionOfKey } from './partition.ts';

/** What a transaction may do (semantics #130, U10, U11). */

/** Throws InvalidOperation where more messages are sent than a transaction takes. */
export function requireTransactionSize(messages: number): void {
  if (messages <= LIMITS.transactionMessages) return;
  throw invalid(
    `Can't send more than ${LIMITS.transactionMessages} messages in a single transaction`,
  );
}

/** An entity as the rules of transactions see it. */
export interface TransactedEntity {
  readonly name: string;
  readonly partitions: number;
  readonly requiresSession: boolean;
}

type Keys = Pick<OutgoingMessage, 'messageId' | 'sessionId' | 'partitionKey' | 'viaPartitionKey'>;

/**
 * The partition into which all messages go that a transaction sends to an entity. Where there are
 * several, the messages have one and the same key; and so do those that are sent to other entities
 * via this one, whose key here is the ViaPartitionKey (semantics U12). Throws InvalidOperation.
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
  return invalid(
    `Every message that a transaction sends to, or via, the partitioned entity '${name}' must have ${what}.`,
  );
}

function partitionOfOne(
  { name, partitions }: TransactedEntity,
  [first = '', ...others]: readonly string[],
): number {
  const other = others.find((key) => key !== first);
  if (other !== undefined) {
    throw invalid(
      `All messages that a transaction sends to, or via, the partitioned entity '${name}' must have the same key; '${first}' and '${other}' differ.`,
    );
  }
  return partitionOfKey(first, partitions);
}

/** Throws InvalidOperation where a transaction would touch more than one partition of an entity. */
export function requireOnePartition(name: string, partitions: readonly number[]): void {
  if (new Set(partitions).size <= 1) return;
  throw invalid(
    `A transaction cannot span several partitions of the partitioned entity '${name}': its messages must have one key.`,
  );
}

function invalid(sentence: string): BrokerError {
  return new BrokerError('InvalidOperation', sentence);
}
