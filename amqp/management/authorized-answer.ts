import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import { type Request, writeReply } from '../requests/request.ts';
import type { RequestMemory } from '../requests/request-memory.ts';
import type { ManagementNode } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { mapError } from '../service/error-mapping.ts';
import { int, str, symbol, textOf } from '../wire/value.ts';
import { batchDelete } from './batch-delete.ts';
import { deferredBytes, receiveDeferred, renewLocks, settle } from './locked-messages.ts';
import type { Input, Operation } from './operation-input.ts';
import { peek, peekedBytes } from './peek.ts';
import { addRule, enumerateRules, removeRule } from './rules.ts';
import { cancelScheduled, schedule } from './scheduling.ts';
import { listSessions, renewSession, sessionState, setSessionState } from './sessions.ts';

const LISTEN: readonly AccessRight[] = ['Listen'];
const SEND: readonly AccessRight[] = ['Send'];

const NO_MESSAGE = 'com.microsoft:message-not-found';
const NO_SESSION = 'com.microsoft:session-not-found';

interface OperationEntry {
  readonly run: Operation;
  /** The operation requires one of these rights (semantics #150, K7). */
  readonly rights: readonly AccessRight[];
  /** The error condition of a reply that found nothing. */
  readonly emptyCondition?: string;
}

/** The bytes that an operation which returns messages reads at most. */
const READ_BYTES: ReadonlyMap<Operation, (input: Input) => Promise<number>> = new Map([
  [receiveDeferred, deferredBytes],
  [peek, peekedBytes],
]);

/** Every operation of `$management` (semantics W23). */
const OPERATIONS: Readonly<Record<string, OperationEntry>> = {
  'renew-lock': { run: renewLocks, rights: LISTEN },
  'update-disposition': { run: settle, rights: LISTEN },
  'receive-by-sequence-number': { run: receiveDeferred, rights: LISTEN },
  'peek-message': { run: peek, rights: LISTEN, emptyCondition: NO_MESSAGE },
  'batch-delete-messages': { run: batchDelete, rights: LISTEN, emptyCondition: NO_MESSAGE },
  'schedule-message': { run: schedule, rights: SEND },
  'cancel-scheduled-message': { run: cancelScheduled, rights: SEND },
  'renew-session-lock': { run: renewSession, rights: LISTEN },
  'get-session-state': { run: sessionState, rights: LISTEN },
  'set-session-state': { run: setSessionState, rights: LISTEN },
  'get-message-sessions': { run: listSessions, rights: LISTEN, emptyCondition: NO_SESSION },
  'add-rule': { run: addRule, rights: ['Manage'] },
  'remove-rule': { run: removeRule, rights: ['Manage'] },
  'enumerate-rules': { run: enumerateRules, rights: ['Manage', 'Listen'] },
};

/** Operations whose effect a transaction could not roll back (semantics U16, S10). */
const NOT_IN_TRANSACTIONS: ReadonlySet<string> = new Set([
  'batch-delete-messages',
  'cancel-scheduled-message',
  'set-session-state',
  'add-rule',
  'remove-rule',
]);

/**
 * Operations that take effect outside the transaction of their request (semantics U16): their refusal does not make it
 * fail.
 */
const OUTSIDE_TRANSACTIONS: ReadonlySet<string> = new Set([
  'renew-lock',
  'renew-session-lock',
  'peek-message',
  'receive-by-sequence-number',
  'get-session-state',
  'get-message-sessions',
  'enumerate-rules',
]);

const VENDOR = 'com.microsoft:';
const LINK_NAME = 'associated-link-name';
const TRACKING_ID = 'com.microsoft:tracking-id';
const NO_CONTENT = 204;

/**
 * Answers a request to `$management` of an entity (semantics W22). The encoded reply carries the status of any
 * error. Every request checks the right and the entity again, because links outlive their entity (semantics W10).
 */
export async function answerManagement(
  context: ClientContext,
  node: ManagementNode,
  request: Request,
  memory: RequestMemory,
): Promise<Buffer> {
  const trackingId = request.fields.get(TRACKING_ID);
  try {
    memory.hold(request.heldBytes);
    const { run, rights, emptyCondition } = operationOf(request);
    await context.authorization.require(node.pathname, node.path, rights);
    await context.settlements.whenIdle(node.path);
    const input: Input = {
      context,
      path: node.path,
      pathname: node.pathname,
      body: request.body,
      hold: memory.hold,
      linkName: textOf(request.fields.get(LINK_NAME)),
      enlistment: request.enlistment,
    };
    const reply = async () => {
      const body = await run(input);
      return writeReply(
        request,
        {
          statusCode: int(body === undefined ? NO_CONTENT : 200),
          statusDescription: str(body === undefined ? 'No content' : 'OK'),
          errorCondition: body === undefined && emptyCondition ? symbol(emptyCondition) : undefined,
          [TRACKING_ID]: trackingId,
        },
        body,
      );
    };
    const readBytes = READ_BYTES.get(run);
    return readBytes === undefined
      ? await reply()
      : await context.reads.run(await readBytes(input), reply);
  } catch (error) {
    if (!OUTSIDE_TRANSACTIONS.has(operationName(request))) request.enlistment?.refuse();
    const mapped = mapError(context.dependencies, error, node.path.name);
    return writeReply(request, {
      statusCode: int(mapped.status),
      statusDescription: str(mapped.description),
      errorCondition: symbol(mapped.condition),
      [TRACKING_ID]: trackingId,
    });
  }
}

function operationName({ operation }: Request): string {
  return operation.startsWith(VENDOR) ? operation.slice(VENDOR.length) : operation;
}

function operationOf(request: Request): OperationEntry {
  const { operation, enlistment } = request;
  const name = operationName(request);
  const entry = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (entry === undefined) {
    throw new BrokerError('NotSupported', `'${operation}' is not an operation of $management.`);
  }
  if (enlistment !== undefined && NOT_IN_TRANSACTIONS.has(name)) {
    throw new BrokerError('NotSupported', `'${name}' cannot be part of a transaction.`);
  }
  return entry;
}
