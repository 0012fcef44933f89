import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { AccessRight } from '../../shared/domain/descriptions.ts';
import type { Node } from '../service/address.ts';
import { tell } from '../service/conditions.ts';
import type { ClientContext } from '../service/context.ts';
import { type Request, writeReply } from '../service/request.ts';
import { type AmqpValue, int, str, symbol } from '../wire/value.ts';
import { deleteMessages, peek } from './browsing.ts';
import { receiveDeferred, renewLocks, settle } from './locks.ts';
import type { Asked, Operation } from './operation.ts';
import { addRule, enumerateRules, removeRule } from './rules.ts';
import { cancelScheduled, schedule } from './scheduling.ts';
import { listSessions, renewSession, sessionState, setSessionState } from './sessions.ts';

type ManagementNode = Extract<Node, { readonly kind: 'management' }>;

const LISTEN: readonly AccessRight[] = ['Listen'];
const SEND: readonly AccessRight[] = ['Send'];

/** Every operation of `$management` (semantics §15.6), and the rights of which one is needed. */
const OPERATIONS: Readonly<Record<string, readonly [Operation, readonly AccessRight[]]>> = {
  'renew-lock': [renewLocks, LISTEN],
  'update-disposition': [settle, LISTEN],
  'receive-by-sequence-number': [receiveDeferred, LISTEN],
  'peek-message': [peek, LISTEN],
  'batch-delete-messages': [deleteMessages, LISTEN],
  'schedule-message': [schedule, SEND],
  'cancel-scheduled-message': [cancelScheduled, SEND],
  'renew-session-lock': [renewSession, LISTEN],
  'get-session-state': [sessionState, LISTEN],
  'set-session-state': [setSessionState, LISTEN],
  'get-message-sessions': [listSessions, LISTEN],
  'add-rule': [addRule, ['Manage']],
  'remove-rule': [removeRule, ['Manage']],
  'enumerate-rules': [enumerateRules, ['Manage', 'Listen']],
};

const VENDOR = 'com.microsoft:';
const TRACKING_ID = 'com.microsoft:tracking-id';
const NO_CONTENT = 204;

/** Answers a request about an entity. Links outlive their entity, so it is looked up for each. */
export async function answer(
  context: ClientContext,
  node: ManagementNode,
  request: Request,
): Promise<Buffer> {
  const trackingId = request.fields.get(TRACKING_ID);
  try {
    const body = await perform(context, node, request);
    return writeReply(
      request,
      {
        statusCode: int(body === undefined ? NO_CONTENT : 200),
        statusDescription: str(body === undefined ? 'No content' : 'OK'),
        [TRACKING_ID]: trackingId,
      },
      body,
    );
  } catch (error) {
    const { condition, description, status } = tell(context.parts, error, node.path.name);
    return writeReply(request, {
      statusCode: int(status),
      statusDescription: str(description),
      errorCondition: symbol(condition),
      [TRACKING_ID]: trackingId,
    });
  }
}

async function perform(
  context: ClientContext,
  { path, pathname }: ManagementNode,
  request: Request,
): Promise<AmqpValue | undefined> {
  const name = request.operation.startsWith(VENDOR)
    ? request.operation.slice(VENDOR.length)
    : request.operation;
  const known = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (known === undefined) {
    throw new BrokerError('NotSupported', `There is no operation '${request.operation}' here.`);
  }
  const [operation, rights] = known;
  await context.authorization.require(pathname, path, rights);
  await context.settlements.before(path);
  const asked: Asked = { context, path, body: request.body };
  return await operation(asked);
}
