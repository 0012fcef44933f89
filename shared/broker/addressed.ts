import { BrokerError, entityNotFound } from '../domain/broker-error.ts';
import type { EntityStatus } from '../domain/descriptions.ts';
import type { Entity } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import type { Receivable } from '../domain/log-policy.ts';
import type { BrokerParts } from './broker-parts.ts';

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
  parts.activity.used(entity);
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
