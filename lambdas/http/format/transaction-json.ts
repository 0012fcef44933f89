import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import type {
  OperationOutcome,
  Transaction,
  TransactionOperation,
} from '../../../shared/broker/broker.ts';
import { argumentError, BrokerError } from '../../../shared/domain/broker-error.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { requireTransactionSize } from '../../../shared/domain/messages/transaction-rules.ts';
import { parseBase64 } from '../message-formats/base64.ts';
import { readBatch } from './batch-format.ts';
import { lockEnds } from './date-text.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';
import { checkRequest } from './json-request.ts';
import { readSettlement } from './settlements.ts';
import { isWellFormed, NOT_WELL_FORMED, requireWellFormed } from './well-formed-text.ts';

/**
 * The verbs of the operations. Each operation has one as the name of the field that holds the entity:
 * `{"send":"orders","messages":[…]}`, `{"complete":"orders","lockToken":"…"}`.
 */
const VERBS = ['send', 'complete', 'abandon', 'defer', 'deadLetter', 'renew'] as const;
type Verb = (typeof VERBS)[number];

const transactionRequest = z.strictObject({
  id: z.optional(z.string().check(z.minLength(1), z.maxLength(LIMITS.idLength))),
  operations: z.array(z.unknown()).check(z.minLength(1), z.maxLength(LIMITS.settlements)),
});
const sendOperation = z.strictObject({ messages: z.unknown() });
const exactOperation = z.strictObject({ amqp: z.string() });
const renewOperation = z.strictObject({
  lockToken: z.string().check(z.maxLength(LIMITS.idLength)),
});
const sessionIdSchema = z.optional(z.string().check(z.refine(isWellFormed, NOT_WELL_FORMED)));
const entityPathSchema = z.string();

/** A send whose messages are in the exact format (semantics H22), and not decoded yet. */
export interface EncodedSend {
  readonly kind: 'encodedSend';
  readonly path: EntityPath;
  readonly encoded: Uint8Array;
}

/** A transaction as it is parsed: the caller must be authorized before its encoded messages are decoded. */
export interface ParsedTransaction extends Omit<Transaction, 'operations'> {
  readonly operations: readonly (TransactionOperation | EncodedSend)[];
}

/** Reads `{"id":"…","operations":[…]}`. Throws ArgumentError, InvalidOperation, MessageLockLost. */
export function parseTransaction(body: Uint8Array): ParsedTransaction {
  const json = parseExactJson(body, 'The body');
  const { id, operations } = checkRequest(transactionRequest, json);
  return {
    operations: operations.map(readOperation),
    ...(id === undefined
      ? {}
      : {
          identity: {
            id: requireWellFormed(id, 'id'),
            fingerprint: createHash('sha256').update(body).digest('base64url'),
          },
        }),
  };
}

/**
 * Decodes the messages of encoded sends, one send at a time, until there are more than a transaction may send. `decode`
 * returns the messages of one. Throws InvalidOperation, and what `decode` throws, with the index of the operation.
 */
export async function decodeSends(
  { operations, ...transaction }: ParsedTransaction,
  decode: (encoded: Uint8Array) => Promise<readonly OutgoingMessage[]>,
): Promise<Transaction> {
  const decoded: TransactionOperation[] = [];
  let sent = 0;
  for (const [index, operation] of operations.entries()) {
    if (operation.kind !== 'encodedSend') {
      decoded.push(operation);
      continue;
    }
    const { path, encoded } = operation;
    const messages = await decode(encoded).catch((error: unknown) => {
      throw error instanceof BrokerError ? error.ofOperation(index) : error;
    });
    sent += messages.length;
    requireTransactionSize(sent);
    decoded.push({ kind: 'send', path, messages });
  }
  return { ...transaction, operations: decoded };
}

function readOperation(json: unknown, index: number): TransactionOperation | EncodedSend {
  try {
    return readVerb(json, `operations[${index}]`);
  } catch (error) {
    throw error instanceof BrokerError ? error.ofOperation(index) : error;
  }
}

function readVerb(json: unknown, at: string): TransactionOperation | EncodedSend {
  const verbs = isJsonObject(json) ? VERBS.filter((name) => Object.hasOwn(json, name)) : [];
  const [verb] = verbs;
  if (!isJsonObject(json) || verb === undefined || verbs.length > 1) {
    throw argumentError(`${at} must have one of ${VERBS.join(', ')}.`);
  }
  const { [verb]: entity, ...fields } = json;
  const path = parseEntityPath(checkRequest(entityPathSchema, entity, `${at}.${verb}`));
  if (verb === 'send') return { path, ...readSend(fields, at) };
  const { sessionId: session, ...rest } = fields as Record<string, unknown>;
  const sessionId = checkRequest(sessionIdSchema, session, `${at}.sessionId`);
  const inSession = sessionId === undefined ? {} : { sessionId };
  return { path, ...inSession, ...readSettling(verb, rest, at) };
}

function readSend(fields: object, at: string) {
  if (Object.hasOwn(fields, 'amqp')) {
    const { amqp } = checkRequest(exactOperation, fields, at);
    const encoded = parseBase64(amqp);
    if (encoded === undefined) throw argumentError(`${at}.amqp is not valid base64.`);
    return { kind: 'encodedSend' as const, encoded };
  }
  const { messages } = checkRequest(sendOperation, fields, at);
  return { kind: 'send' as const, messages: readBatch(messages) };
}

function readSettling(verb: Exclude<Verb, 'send'>, fields: object, at: string) {
  if (verb === 'renew') {
    return { kind: 'renew' as const, ...checkRequest(renewOperation, fields, at) };
  }
  return { kind: 'settle' as const, settlement: readSettlement({ ...fields, outcome: verb }, at) };
}

/** Prints the outcomes of the operations, in order. */
export function printTransaction(outcomes: readonly OperationOutcome[]): string {
  return `{"operations":[${outcomes.map(printOutcome).join(',')}]}`;
}

function printOutcome(outcome: OperationOutcome): string {
  switch (outcome.kind) {
    case 'sent': {
      // JSON.stringify cannot print 64-bit integers.
      const numbers = outcome.sequenceNumbers.map((number) => String(number ?? null));
      return `{"sequenceNumbers":[${numbers.join(',')}]}`;
    }
    case 'settled':
      return '{"settled":true}';
    case 'renewed':
      return JSON.stringify(lockEnds(outcome.lockedUntil));
  }
}
