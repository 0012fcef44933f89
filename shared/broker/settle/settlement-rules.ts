import type { Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, invalidOperation } from '../../domain/broker-error.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import { requirePropertiesFit } from '../../domain/messages/property-limits.ts';
import type { SettlementAction } from '../broker.ts';

/** Whether settlements may have made dead letters that the entity forwards. */
export function mayDeadLetter(
  { description }: Receivable,
  actions: readonly SettlementAction[],
): boolean {
  if (description.forwardDeadLetteredMessagesTo === undefined) return false;
  return actions.some(({ kind }) => kind === 'deadLetter' || kind === 'abandon');
}

/** Throws ArgumentError or InvalidOperation for a settlement that is not allowed at this path. */
export function requireAction(path: EntityPath, action: SettlementAction): void {
  if (action.kind === 'complete') return;
  if (action.kind === 'deadLetter') {
    if (path.subQueue !== 'main') {
      throw invalidOperation('A message of a dead-letter queue cannot be dead-lettered again.');
    }
    requireLength('DeadLetterReason', action.reason);
    requireLength('DeadLetterErrorDescription', action.description);
  }
  if (action.kind === 'abandon' && action.delayMs !== undefined && !(action.delayMs >= 0)) {
    throw new BrokerError('ArgumentError', 'The delay of an abandon must not be negative.');
  }
  if (action.properties !== undefined) requirePropertiesFit(action.properties);
}

function requireLength(name: string, value: string | undefined): void {
  if (value === undefined || value.length <= LIMITS.deadLetterTextLength) return;
  throw new BrokerError(
    'ArgumentError',
    `${name} is ${value.length} characters long; the limit is ${LIMITS.deadLetterTextLength}.`,
  );
}

/** The refusal of an abandon with a delay in a session (semantics S6). */
export function noDelayInSession(): BrokerError {
  return invalidOperation(
    'A message of a session cannot be set aside for a time: its order is strict. Defer it, or give the session back.',
  );
}
