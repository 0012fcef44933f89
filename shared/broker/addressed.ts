import type { BlockRules } from '../domain/block.ts';
import { BrokerError, entityNotFound } from '../domain/broker-error.ts';
import type {
  EntityStatus,
  QueueDescription,
  SubscriptionDescription,
} from '../domain/descriptions.ts';
import type { Entity } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { logOf } from '../domain/log.ts';
import type { BrokerParts } from './broker-parts.ts';
import type { LogPolicy } from './ports.ts';

/** An entity one can receive from. */
export type Receivable = Entity<QueueDescription | SubscriptionDescription>;

const NO_SENDING: ReadonlySet<EntityStatus> = new Set(['Disabled', 'SendDisabled']);
const NO_RECEIVING: ReadonlySet<EntityStatus> = new Set(['Disabled', 'ReceiveDisabled']);

/** The entity a path names. Throws MessagingEntityNotFound. */
export async function findEntity(parts: BrokerParts, path: EntityPath): Promise<Entity> {
  const entity = await parts.entities.find(path.key);
  if (entity === undefined) throw entityNotFound(path.name);
  return entity;
}

/** The entity that a path lets one receive from. Throws MessagingEntityNotFound, InvalidOperation. */
export async function findReceivable(parts: BrokerParts, path: EntityPath): Promise<Receivable> {
  const entity = await findEntity(parts, path);
  if (!isReceivable(entity)) {
    throw new BrokerError(
      'InvalidOperation',
      `Messages of the topic '${path.name}' are received from its subscriptions.`,
    );
  }
  return entity;
}

function isReceivable(entity: Entity): entity is Receivable {
  return entity.description.kind !== 'topic';
}

/** Throws MessagingEntityDisabled where the entity takes no messages (semantics §11.1). */
export function requireSendable(entity: Entity): void {
  if (NO_SENDING.has(entity.description.status)) throw disabled(entity);
}

/** Throws MessagingEntityDisabled where the entity hands out no messages (semantics §11.1). */
export function requireReceivable(entity: Entity): void {
  if (NO_RECEIVING.has(entity.description.status)) throw disabled(entity);
}

function disabled(entity: Entity): BrokerError {
  return new BrokerError(
    'MessagingEntityDisabled',
    `Messaging entity '${entity.name}' is currently disabled.`,
    { subCode: '40301' },
  );
}

/** What holds for the messages of a sub-queue of an entity. */
export function policyOf(entity: Receivable, path: EntityPath, partition: number): LogPolicy {
  const { description } = entity;
  const isDeadLetter = path.subQueue !== 'main';
  const rules: BlockRules = {
    epoch: entity.epoch,
    isDeadLetter,
    maxDeliveryCount: description.maxDeliveryCount,
    ...(description.defaultTimeToLiveMs === undefined || isDeadLetter
      ? {}
      : { defaultTimeToLiveMs: description.defaultTimeToLiveMs }),
  };
  return {
    rules,
    expired: description.deadLetteringOnMessageExpiration ? 'deadLetter' : 'drop',
    deadLetterLog: logOf(entity, 'deadLetter', partition),
  };
}
