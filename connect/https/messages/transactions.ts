import { writeOutgoing } from '../../../amqp/messages/write-message.ts';
import { fieldOf } from '../../../client/client-errors.ts';
import { parseExactJson } from '../../../lambdas/http/format/exact-json.ts';
import type {
  OperationOutcome,
  Transaction,
  TransactionOperation,
} from '../../../shared/broker/broker.ts';
import { writeExact } from '../format/exact-batch.ts';
import { toNumbers } from '../format/numbers.ts';
import { pathText } from '../format/paths.ts';
import { printSettlementFields } from '../format/settlement-json.ts';
import { readInstant } from './sessions.ts';

/** Prints a transaction as the HTTP interface takes it. */
export function printTransaction({ operations }: Transaction, id: string | undefined): string {
  const printed = operations.map(printOperation).join(',');
  return `{${id === undefined ? '' : `"id":"${id}",`}"operations":[${printed}]}`;
}

function printOperation(operation: TransactionOperation): string {
  const path = JSON.stringify(pathText(operation.path));
  if (operation.kind === 'send') {
    const messages = writeExact(operation.messages.map(writeOutgoing)).toString('base64');
    return `{"send":${path},"amqp":"${messages}"}`;
  }
  const { sessionId } = operation;
  const session = sessionId === undefined ? '' : `,"sessionId":${JSON.stringify(sessionId)}`;
  const lock = (token: string) => `,"lockToken":${JSON.stringify(token)}`;
  if (operation.kind === 'renew') return `{"renew":${path}${session}${lock(operation.lockToken)}}`;
  const { settlement } = operation;
  return `{"${settlement.action.kind}":${path}${session}${lock(settlement.lockToken)}${printSettlementFields(settlement)}}`;
}

/** Reads the outcomes of a transaction, in the order of its operations. */
export function readOutcomes(
  text: string,
  { operations }: Transaction,
): readonly OperationOutcome[] {
  const outcomes = fieldOf(parseExactJson(text, 'The answer'), 'operations');
  if (!Array.isArray(outcomes)) throw new Error('An answer has no outcomes of operations.');
  return operations.map(({ kind }, i) => readOutcome(kind, outcomes[i]));
}

function readOutcome(kind: TransactionOperation['kind'], json: unknown): OperationOutcome {
  switch (kind) {
    case 'send':
      return { kind: 'sent', sequenceNumbers: toNumbers(fieldOf(json, 'sequenceNumbers')) };
    case 'settle':
      return { kind: 'settled' };
    case 'renew':
      return { kind: 'renewed', lockedUntil: readInstant(fieldOf(json, 'lockedUntil')) };
  }
}
