import type { Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, entityNotFound, invalidOperation } from '../../domain/broker-error.ts';
import type { QueueDescription, TopicDescription } from '../../domain/entities/descriptions.ts';
import { type Entity, isOfKind } from '../../domain/entities/entity.ts';
import type { EntityPath, SubQueue } from '../../domain/entities/entity-path.ts';
import { withoutDeadLettering } from '../../domain/messages/dead-letter-reasons.ts';
import type { Message } from '../../domain/messages/message.ts';
import { messageSize, tooLarge } from '../../domain/messages/outgoing-rules.ts';
import type { ResubmitOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findEntity, requireSendable } from '../entity-lookup.ts';
import { enter } from '../routing/route.ts';
import { requireQuota, requireSendPath } from '../send/send.ts';
import { BATCH_MAX, type ResubmitDestination, resubmitTo } from './resubmission.ts';

/** Messages that move to a topic in one transaction: its subscriptions may make many copies of each. */
const TOPIC_BATCH_MAX = 10;

/** Sends dead letters to another queue or topic; see `resubmitTo`. */
export async function resubmitElsewhere(
  dependencies: BrokerDependencies,
  source: Receivable,
  subQueue: SubQueue,
  options: ResubmitOptions & { readonly to: EntityPath },
): Promise<number> {
  const { to } = options;
  requireSendPath(to);
  // Read anew: it may have been deleted, and created again, since this process read it.
  dependencies.entities.forget(to.key);
  const target = await findEntity(dependencies, to);
  requireSendable(target);
  const { description } = target;
  if (description.kind === 'subscription') throw entityNotFound(to.name);
  const destination = elsewhere(dependencies, { ...target, description });
  return await resubmitTo(dependencies, source, subQueue, options, destination);
}

function elsewhere(
  dependencies: BrokerDependencies,
  target: Entity<QueueDescription | TopicDescription>,
): ResubmitDestination {
  const { name, description } = target;
  const isTopic = isOfKind(target, 'topic');
  return {
    batchMax: isTopic ? TOPIC_BATCH_MAX : BATCH_MAX,
    renewed: asSent,
    obstacleFor: (message) => {
      const bytes = messageSize(message);
      const bytesMax = description.maxMessageSizeInKilobytes * 1024;
      if (bytes > bytesMax) return tooLarge('message', bytes, bytesMax);
      const needsSession = description.kind === 'queue' && description.requiresSession;
      if (!needsSession || message.sessionId !== undefined) return undefined;
      return invalidOperation(
        `'${name}' requires sessions, and the messages have no session id, so they stay where they are. Receive them, and send them with one.`,
      );
    },
    requireRoom: (messages) => requireQuota(dependencies, target, description, messages),
    route: (counting, messages) => enter(counting, target, messages),
    rehearse: (rehearsing, message) => enter(rehearsing, target, [message]),
    dropped: () =>
      new BrokerError(
        'NoMatchingSubscription',
        isTopic
          ? `No subscription of the topic '${name}' matches the messages, so they stay where they are.`
          : `'${name}' forwards to a topic of which no subscription matches the messages, so they stay where they are.`,
      ),
  };
}

/** The message as one that is sent now: it has been in no other entity, and was never forwarded. */
function asSent(message: Message): Message {
  const { hops: _, enqueuedSequenceNumber: __, ...rest } = withoutDeadLettering(message);
  return rest;
}
