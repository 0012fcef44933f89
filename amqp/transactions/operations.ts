import type { SettlementAction, TransactionOperation } from '../../shared/broker/broker.ts';
import { requireAction } from '../../shared/broker/settle/settlement-rules.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import { messageSize } from '../../shared/domain/messages/outgoing-rules.ts';
import {
  propertiesBytes,
  requirePropertiesFit,
  utf8Bytes,
} from '../../shared/domain/messages/property-limits.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';

/** The memory of an operation, and of each message in one, without their contents. */
const OPERATION_BYTES = BUDGETS.weights.deliveryBytes;
/** A name and a value. */
const PROPERTY_BYTES = 2 * BUDGETS.weights.valueBytes;

/**
 * Refuses properties early that every entity would refuse at the discharge, instead of holding them until
 * then. Throws what the operation throws outside of transactions.
 */
export function requireFits(operation: TransactionOperation): void {
  if (operation.kind === 'send') {
    for (const { properties } of operation.messages) requirePropertiesFit(properties);
  }
  if (operation.kind === 'settle') requireAction(operation.path, operation.settlement.action);
}

/** Returns the memory of a decoded operation until the discharge, bytes. */
export function heldBytes(operation: TransactionOperation): number {
  if (operation.kind === 'send') return operation.messages.reduce(addMessage, OPERATION_BYTES);
  if (operation.kind === 'settle')
    return OPERATION_BYTES + actionBytes(operation.settlement.action);
  return OPERATION_BYTES;
}

function addMessage(sum: number, message: OutgoingMessage): number {
  return sum + OPERATION_BYTES + messageSize(message) + propertiesOverhead(message.properties);
}

/** Returns the memory of a decoded settlement without its lock token, bytes. */
export function actionBytes(action: SettlementAction): number {
  if (action.kind === 'complete') return 0;
  const { properties = {} } = action;
  const { reason = '', description = '' } = action.kind === 'deadLetter' ? action : {};
  const texts = utf8Bytes(reason) + utf8Bytes(description);
  return texts + propertiesBytes(properties) + propertiesOverhead(properties);
}

function propertiesOverhead(properties: Properties): number {
  return Object.keys(properties).length * PROPERTY_BYTES;
}

/** Whether two settlements of one message are the same; never if they have reasons or changed properties. */
export function isSameSettlement(one: TransactionOperation, other: TransactionOperation): boolean {
  if (one.kind !== 'settle' || other.kind !== 'settle') return false;
  const [a, b] = [one.settlement.action, other.settlement.action];
  if (a.kind === 'complete' || b.kind === 'complete') return a.kind === b.kind;
  if (a.properties !== undefined || b.properties !== undefined) return false;
  if (a.kind === 'abandon' && b.kind === 'abandon') {
    return a.isUncounted === b.isUncounted && a.delayMs === b.delayMs;
  }
  return a.kind === 'defer' && b.kind === 'defer';
}
