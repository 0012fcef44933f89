import type { SettlementAction } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { requiresSession } from '../../shared/domain/entities/entity.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import { present } from '../../shared/domain/present.ts';
import { changedProperties, guidBytes } from '../messages/property-values.ts';
import { withLockEndShown, writeMessage } from '../messages/write-message.ts';
import type { ClientContext } from '../service/context.ts';
import { lockEndShown } from '../service/dependencies.ts';
import { type AmqpValue, array, binary, list, mapOf, timestamp, uuid } from '../wire/value.ts';
import { Body, type Input, messageBytesMax, sessionIdOf } from './operation-input.ts';
import { writeEach } from './write-each.ts';

/** The receiver settle mode that deletes messages on receipt. */
const RECEIVE_AND_DELETE = 0;
const { settlementBytes: SETTLEMENT_BYTES } = BUDGETS.weights;

/**
 * `renew-lock`: renews message locks and returns their new ends. Throws the first refusal, such as
 * MessageLockLost, while other locks may have been renewed.
 */
export async function renewLocks({ context, path, body, hold }: Input): Promise<AmqpValue> {
  const { dependencies } = context;
  const tokens = new Body(body).lockTokens();
  hold(tokens.length * SETTLEMENT_BYTES);
  const outcomes = await dependencies.broker.renewLocks(path, tokens);
  const ends = outcomes.map(({ lockedUntil, refusal }) => {
    if (lockedUntil === undefined) throw refusal ?? new Error('A renewal has an outcome.');
    return timestamp(lockEndShown(dependencies, lockedUntil));
  });
  return mapOf({ expirations: array('timestamp', ends) });
}

/**
 * `update-disposition`: settles messages that were received by sequence number, or on any link (semantics W26), or adds
 * the settlements to the request's transaction. Throws the first refusal, such as MessageLockLost, while
 * other messages may have been settled.
 */
export async function settle(input: Input): Promise<AmqpValue> {
  const { context, path, pathname, body, hold, enlistment } = input;
  const fields = new Body(body);
  const action = actionOf(fields);
  const settlements = fields.lockTokens().map((lockToken) => ({ lockToken, action }));
  const sessionId = (await hasSessions(context, path)) ? sessionIdOf(input) : undefined;
  if (enlistment !== undefined) {
    const need = { pathname, path, right: 'Listen' } as const;
    for (const settlement of settlements) {
      enlistment.add({ kind: 'settle', path, settlement, sessionId }, need);
    }
    return mapOf({});
  }
  hold(settlements.length * SETTLEMENT_BYTES);
  const outcomes = await context.dependencies.broker.settle(path, settlements, sessionId);
  for (const { refusal } of outcomes) if (refusal !== undefined) throw refusal;
  return mapOf({});
}

/** Whether an entity has sessions. Clients send a session id for every message with one, on any entity. */
async function hasSessions({ dependencies }: ClientContext, path: EntityPath): Promise<boolean> {
  const entity = await dependencies.entities.find(path.key);
  return entity !== undefined && path.subQueue === 'main' && requiresSession(entity);
}

/** Returns the settlement that a request names in the vendor's words (semantics W24). */
function actionOf(fields: Body): SettlementAction {
  const status = fields.requiredText('disposition-status');
  const properties = changedProperties(fields.at('properties-to-modify'));
  switch (status) {
    case 'completed':
      return { kind: 'complete' };
    case 'abandoned':
      return { kind: 'abandon', ...properties };
    // The vendor's spelling.
    case 'defered':
      return { kind: 'defer', ...properties };
    case 'suspended': {
      const reason = fields.text('deadletter-reason');
      const description = fields.text('deadletter-description');
      return { kind: 'deadLetter', ...properties, ...present({ reason, description }) };
    }
    default:
      throw new BrokerError('ArgumentError', `'${status}' is not a disposition status.`);
  }
}

/** Returns the bytes that `receiveDeferred` reads at most. One message may exceed the limit for several. */
export async function deferredBytes(input: Input): Promise<number> {
  const count = new Body(input.body).list('sequence-numbers').length;
  const messageBytes = await messageBytesMax(input);
  return Math.max(messageBytes, Math.min(count * messageBytes, BUDGETS.request.deferredBytes));
}

/**
 * `receive-by-sequence-number`: returns deferred messages, locked or deleted by the receiver settle mode.
 * Throws MessageNotFound, SessionLockLost and what else the broker throws.
 */
export async function receiveDeferred(input: Input): Promise<AmqpValue> {
  const { context, path, body } = input;
  const fields = new Body(body);
  const sessionId = sessionIdOf(input);
  const { lockEndShown: shown } = context.dependencies;
  const isGone = fields.number('receiver-settle-mode') === RECEIVE_AND_DELETE;
  const messages = await context.dependencies.broker.receiveDeferred(path, {
    mode: isGone ? 'receiveAndDelete' : 'peekLock',
    sequenceNumbers: fields.bigints('sequence-numbers'),
    session: sessionId === undefined ? undefined : context.sessions.handle(path, sessionId),
  });
  const entries = await writeEach(context, messages, (message) =>
    mapOf({
      message: binary(writeMessage(withLockEndShown(message, shown))),
      'lock-token': 'lockToken' in message ? uuid(guidBytes(message.lockToken)) : undefined,
    }),
  );
  return mapOf({ messages: list(entries) });
}
