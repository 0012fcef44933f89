import type { Hono } from 'hono';
import { requireQueueOrSubscription } from '../../../shared/broker/entity-lookup.ts';
import { requireSendPath } from '../../../shared/broker/send/send.ts';
import type { Receivable } from '../../../shared/domain/blocks/log-policy.ts';
import { entityNotFound } from '../../../shared/domain/broker-error.ts';
import {
  type Entity,
  partitionsOf,
  requiresSession,
} from '../../../shared/domain/entities/entity.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { present } from '../../../shared/domain/present.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { serve } from '../routing/routing.ts';

type Entities = Pick<HttpDependencies, 'entities'>;

/** Adds the route that tells a sender what it must know of an entity before it sends (semantics H23). */
export function serveSenderFacts(app: Hono, dependencies: HttpDependencies): void {
  serve(app, dependencies, 'senderFacts', async (c, path) => {
    requireSendPath(path);
    const entity = await findEntity(dependencies, path);
    const kilobytes = linkKilobytesOf(dependencies, entity, path);
    const facts = factsOf(entity, requiresSession(entity), kilobytes);
    return jsonAnswer(c, JSON.stringify({ ...facts, ...togetherFacts(entity) }));
  });
}

/** Adds the route that tells a receiver what it must know of an entity before it receives (semantics H23). */
export function serveReceiverFacts(app: Hono, dependencies: HttpDependencies): void {
  serve(app, dependencies, 'receiverFacts', async (c, path) => {
    const entity = await findEntity(dependencies, path);
    requireQueueOrSubscription(entity);
    // The messages of a subscription are those of its topic.
    const key = path.subscription?.topic.toLowerCase() ?? path.key;
    const entityOfMessages = await dependencies.entities.find(key);
    const kilobytes = linkKilobytesOf(dependencies, entityOfMessages, path);
    // A dead-letter queue has no sessions.
    const needsSession = path.subQueue === 'main' && requiresSession(entity);
    const facts = factsOf(entity, needsSession, kilobytes);
    return jsonAnswer(c, JSON.stringify({ ...facts, ...hindrancesOf(entity) }));
  });
}

/** The largest message that an entity accepts and an answer can carry: nothing is sent that nobody can receive here. */
function linkKilobytesOf(
  { answerBytesMax }: HttpDependencies,
  entity: Entity | undefined,
  path: EntityPath,
): number {
  const kilobytes = messageKilobytesOf(entity, path);
  return answerBytesMax === undefined
    ? kilobytes
    : Math.min(kilobytes, LIMITS.answeredMessageBytes / 1024);
}

function factsOf(
  { description: { kind } }: Entity,
  needsSession: boolean,
  maxMessageSizeInKilobytes: number,
) {
  return { kind, requiresSession: needsSession, maxMessageSizeInKilobytes };
}

/** What keeps a receiver from getting messages, if anything does. */
function hindrancesOf({ description }: Receivable) {
  const { status, forwardTo, forwardDeadLetteredMessagesTo } = description;
  const disabled = status === 'Active' ? {} : { status };
  return { ...disabled, ...present({ forwardTo, forwardDeadLetteredMessagesTo }) };
}

/** What decides which messages of several senders may share a request. */
function togetherFacts(entity: Entity) {
  const { description } = entity;
  if (description.kind === 'subscription') return {};
  const { requiresDuplicateDetection } = description;
  const filtering =
    description.kind === 'topic'
      ? { filteringMessagesBeforePublishing: description.filteringMessagesBeforePublishing }
      : {};
  return { partitions: partitionsOf(entity), requiresDuplicateDetection, ...filtering };
}

/**
 * The largest message that an entity accepts, bytes. Reads the entity through the cache. Throws InvalidOperation for a
 * path that accepts no messages, and MessagingEntityNotFound.
 */
export async function maxMessageBytes(dependencies: Entities, path: EntityPath): Promise<number> {
  requireSendPath(path);
  return messageKilobytesOf(await dependencies.entities.find(path.key), path) * 1024;
}

function messageKilobytesOf(entity: Entity | undefined, { name }: EntityPath): number {
  if (entity === undefined || entity.description.kind === 'subscription')
    throw entityNotFound(name);
  return entity.description.maxMessageSizeInKilobytes;
}

async function findEntity({ entities }: Entities, path: EntityPath): Promise<Entity> {
  const entity = await entities.find(path.key);
  if (entity === undefined) throw entityNotFound(path.name);
  return entity;
}
