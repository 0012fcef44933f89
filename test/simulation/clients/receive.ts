import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import type { StoredMessage } from '../../../shared/domain/messages/message.ts';
import { isDeadLetterPath, waitOf } from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import {
  type ActionOf,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import type { Delivery, Details, SessionGrant } from './record.ts';
import { tagOf } from './wire.ts';

/** Operations that receive messages or peek at them. */
export const receiveOperations: Operations<'receive' | 'receiveDeferred' | 'peek'> = {
  receive,
  receiveDeferred,
  peek,
};

function receive(client: Actor, action: ActionOf<'receive'>): Prepared | undefined {
  const { from, mode, max, waitMs, abortAfterMs } = action;
  const { world } = client.context;
  const isBySession = world.requiresSession(from) && !isDeadLetterPath(from);
  const session = isBySession ? client.locks.session(from) : undefined;
  if (isBySession && session === undefined) return undefined;
  return {
    run: async (composition) => {
      const abort = new AbortController();
      if (abortAfterMs !== undefined) {
        composition.dependencies.scheduler.after(abortAfterMs, () => abort.abort());
      }
      const messages = await broker(composition).receive(pathOf(from), {
        mode,
        maxMessages: max,
        waitMs: waitOf(world.scenario, waitMs),
        signal: abort.signal,
        ...(session === undefined ? {} : { session: handleOf(session) }),
      });
      return { deliveries: deliveriesOf(client, from, messages, { session, isDeferred: false }) };
    },
    record: (result) => recordDeliveries(client, from, answerOr(result), session),
  };
}

function receiveDeferred(client: Actor, action: ActionOf<'receiveDeferred'>): Prepared | undefined {
  const { from, mode, count } = action;
  const { registry, world, random } = client.context;
  const session = world.requiresSession(from) ? client.locks.session(from) : undefined;
  if (world.requiresSession(from) && session === undefined) return undefined;
  const known = registry
    .of(from)
    .deferred.filter(({ sessionId }) => session === undefined || sessionId === session.sessionId);
  const [first] = known.length === 0 ? [] : [random.pick(known)];
  if (first === undefined) return undefined;
  const partition = first.sequenceNumber >> 48n;
  const sequenceNumbers = new Set([first.sequenceNumber]);
  for (const { sequenceNumber } of known) {
    if (sequenceNumbers.size < count && sequenceNumber >> 48n === partition)
      sequenceNumbers.add(sequenceNumber);
  }
  const tags = known
    .filter(({ sequenceNumber }) => sequenceNumbers.has(sequenceNumber))
    .map(({ tag }) => tag);
  return {
    run: async (composition) => {
      const messages = await broker(composition).receiveDeferred(pathOf(from), {
        mode,
        sequenceNumbers: [...sequenceNumbers],
        ...(session === undefined ? {} : { session: handleOf(session) }),
      });
      return {
        tags,
        deliveries: deliveriesOf(client, from, messages, { session, isDeferred: true }),
      };
    },
    record: (result) => recordDeliveries(client, from, answerOr(result, { tags }), session),
  };
}

function peek(client: Actor, { from, max, sessionId }: ActionOf<'peek'>): Prepared | undefined {
  const isBySession = client.context.world.requiresSession(from) && !isDeadLetterPath(from);
  if (isBySession && sessionId === undefined) return undefined;
  return {
    run: async (composition) => {
      const shown = await broker(composition).peek(pathOf(from), {
        maxMessages: max,
        ...(isBySession && sessionId !== undefined ? { sessionId } : {}),
      });
      return { tags: shown.map(({ message }) => tagOf(message)) };
    },
    record: (result) => answerOr(result),
  };
}

/** The handle of a session, as the broker needs it. */
export function handleOf({ sessionId, lockToken }: SessionGrant) {
  return { sessionId, lockToken };
}

function deliveriesOf(
  client: Actor,
  path: string,
  messages: readonly ReceivedMessage[],
  {
    session,
    isDeferred,
  }: { readonly session: SessionGrant | undefined; readonly isDeferred: boolean },
): readonly Delivery[] {
  return messages.map((one) => ({
    id: client.context.number(),
    tag: tagOf(one.message),
    path,
    isDeferred,
    sequenceNumber: one.sequenceNumber,
    failedDeliveries: one.failedDeliveries,
    ...lockOf(one),
    ...(session === undefined ? {} : { session: handleOf(session) }),
    ...(one.expiresAt === undefined ? {} : { expiresAt: one.expiresAt }),
  }));
}

function lockOf(message: StoredMessage | ReceivedMessage) {
  if (!('lockToken' in message)) return {};
  const { lockToken, lockedUntil } = message;
  return { lockToken, lockedUntil };
}

function recordDeliveries(
  client: Actor,
  path: string,
  details: Details,
  session: SessionGrant | undefined,
): Details {
  for (const delivery of details.deliveries ?? []) {
    if (delivery.lockToken === undefined) continue;
    client.locks.take(path, {
      delivery,
      isSpent: false,
      ...(session === undefined ? {} : { session }),
    });
  }
  return session === undefined ? details : { ...details, session };
}
