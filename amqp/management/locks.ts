import type { SettlementAction } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { requiresSession } from '../../shared/domain/entities/entity.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import { guidBytes, toProperties } from '../messages/property-values.ts';
import { writeMessage } from '../messages/write-message.ts';
import type { ClientContext } from '../service/context.ts';
import { type AmqpValue, array, binary, list, mapOf, timestamp, uuid } from '../wire/value.ts';
import { Body, messageBytesMax, type OperationRequest, sessionIdOf } from './operation.ts';
import { writeEach } from './write-each.ts';

/** The receiver's mode in which messages are gone once they are handed out. */
const RECEIVE_AND_DELETE = 0;
const { settlementBytes: SETTLEMENT_BYTES } = BUDGETS.weights;

/** Starts locks anew: all of them, or the first refusal is the answer. */
export async function renewLocks({
  context,
  path,
  body,
  hold,
}: OperationRequest): Promise<AmqpValue> {
  const tokens = new Body(body).lockTokens();
  hold(tokens.length * SETTLEMENT_BYTES);
  const outcomes = await context.dependencies.broker.renewLocks(path, tokens);
  const ends = outcomes.map(({ lockedUntil, refusal }) => {
    if (lockedUntil === undefined) throw refusal ?? new Error('A renewal has an outcome.');
    return timestamp(lockedUntil);
  });
  return mapOf({ expirations: array('timestamp', ends) });
}

/** Settles messages that were received by number, or on another link. */
export async function settle(asked: OperationRequest): Promise<AmqpValue> {
  const { context, path, pathname, body, hold, enlistment } = asked;
  const fields = new Body(body);
  const action = actionOf(fields);
  const settlements = fields.lockTokens().map((lockToken) => ({ lockToken, action }));
  const sessionId = (await hasSessions(context, path)) ? sessionIdOf(asked) : undefined;
  if (enlistment !== undefined) {
    const session = sessionId === undefined ? {} : { sessionId };
    const need = { pathname, path, right: 'Listen' } as const;
    for (const settlement of settlements) {
      enlistment.add({ kind: 'settle', path, settlement, ...session }, need);
    }
    return mapOf({});
  }
  hold(settlements.length * SETTLEMENT_BYTES);
  const outcomes = await context.dependencies.broker.settle(path, settlements, sessionId);
  for (const { refusal } of outcomes) if (refusal !== undefined) throw refusal;
  return mapOf({});
}

/** Clients name the session of every message that has one, also where sessions mean nothing. */
async function hasSessions({ dependencies }: ClientContext, path: EntityPath): Promise<boolean> {
  const entity = await dependencies.entities.find(path.key);
  return entity !== undefined && path.subQueue === 'main' && requiresSession(entity);
}

function actionOf(fields: Body): SettlementAction {
  const status = fields.requiredText('disposition-status');
  const properties = changed(fields);
  switch (status) {
    case 'completed':
      return { kind: 'complete' };
    case 'abandoned':
      return { kind: 'abandon', ...properties };
    // The word is the vendor's.
    case 'defered':
      return { kind: 'defer', ...properties };
    case 'suspended': {
      const reason = fields.text('deadletter-reason');
      const description = fields.text('deadletter-description');
      return {
        kind: 'deadLetter',
        ...properties,
        ...(reason === undefined ? {} : { reason }),
        ...(description === undefined ? {} : { description }),
      };
    }
    default:
      throw new BrokerError('ArgumentError', `There is no disposition status '${status}'.`);
  }
}

function changed(fields: Body): { readonly properties?: Properties } {
  const { properties } = toProperties(fields.at('properties-to-modify'));
  return Object.keys(properties).length === 0 ? {} : { properties };
}

/** What `receiveDeferred` may read, bytes; one message alone may be larger than all together. */
export async function deferredBytes(asked: OperationRequest): Promise<number> {
  const count = new Body(asked.body).list('sequence-numbers').length;
  const messageBytes = await messageBytesMax(asked);
  return Math.max(messageBytes, Math.min(count * messageBytes, BUDGETS.request.deferredBytes));
}

/** Hands out deferred messages by their numbers. */
export async function receiveDeferred(asked: OperationRequest): Promise<AmqpValue> {
  const { context, path, body } = asked;
  const fields = new Body(body);
  const sessionId = sessionIdOf(asked);
  const isGone = fields.number('receiver-settle-mode') === RECEIVE_AND_DELETE;
  const messages = await context.dependencies.broker.receiveDeferred(path, {
    mode: isGone ? 'receiveAndDelete' : 'peekLock',
    sequenceNumbers: fields.bigints('sequence-numbers'),
    ...(sessionId === undefined ? {} : { session: context.sessions.handle(path, sessionId) }),
  });
  const entries = await writeEach(context, messages, (message) =>
    mapOf({
      message: binary(writeMessage(message)),
      'lock-token': 'lockToken' in message ? uuid(guidBytes(message.lockToken)) : undefined,
    }),
  );
  return mapOf({ messages: list(entries) });
}
