import type { Random } from '../machines/random.ts';
import type { DeliverySpec, EntitySpec, QueueSpec, SubscriptionSpec } from './scenario.ts';

/** Draws the entities of a namespace: few, so that clients use the same ones. */
export function drawEntities(random: Random): readonly EntitySpec[] {
  const entities: EntitySpec[] = [];
  const count = random.pick([1, 1, 2]);
  for (let i = 0; i < count; i++) {
    const kind = random.weighted({ queue: 10, sessions: 6, duplicates: 4, forward: 3, topic: 5 });
    if (kind === 'topic') entities.push(...drawTopic(random, `t${i}`));
    else if (kind === 'forward') entities.push(...drawChain(random, `f${i}`));
    else entities.push(drawQueue(random, `q${i}`, kind));
  }
  return entities;
}

function drawQueue(
  random: Random,
  path: string,
  kind: 'queue' | 'sessions' | 'duplicates',
): QueueSpec {
  return {
    kind: 'queue',
    path,
    ...drawDelivery(random),
    requiresSession: kind === 'sessions' || (kind === 'duplicates' && random.chance(0.2)),
    partitioned: random.chance(0.25),
    ...(kind === 'duplicates' ? { detectionMs: random.pick([20_000, 60_000, 600_000]) } : {}),
  };
}

/** A queue and the queue it forwards to, in the order of their creation. */
function drawChain(random: Random, path: string): readonly EntitySpec[] {
  const end = drawQueue(random, `${path}-end`, 'queue');
  const asDeadLetters = random.chance(0.5);
  const start: QueueSpec = {
    ...drawQueue(random, path, 'queue'),
    ...(asDeadLetters ? { forwardDeadLettersTo: end.path } : { forwardTo: end.path }),
  };
  return [end, start];
}

function drawTopic(random: Random, path: string): readonly EntitySpec[] {
  const topic: EntitySpec = {
    kind: 'topic',
    path,
    partitioned: random.chance(0.2),
    ...(random.chance(0.3) ? { detectionMs: 60_000 } : {}),
  };
  const end = random.chance(0.25) ? drawQueue(random, `${path}-end`, 'queue') : undefined;
  const subscriptions = Array.from({ length: random.between(1, 3) }, (_, i): SubscriptionSpec => {
    const delivery = drawDelivery(random);
    const isForwarding = end !== undefined && i === 0;
    return {
      kind: 'subscription',
      path: `${path}/subscriptions/s${i}`,
      topic: path,
      filter: random.pick(['all', 'all', 'red', 'blue']),
      ...delivery,
      requiresSession: !isForwarding && random.chance(0.2),
      ...(isForwarding ? { forwardTo: end.path } : {}),
    };
  });
  return [...(end === undefined ? [] : [end]), topic, ...subscriptions];
}

function drawDelivery(random: Random): DeliverySpec {
  return {
    lockMs: random.pick([5000, 5000, 10_000, 30_000]),
    maxDeliveryCount: random.pick([1, 2, 3, 10, 10, 10]),
    requiresSession: false,
    deadLettersExpired: random.chance(0.5),
    ...(random.chance(0.1) ? { defaultTimeToLiveMs: random.pick([5000, 60_000]) } : {}),
  };
}
