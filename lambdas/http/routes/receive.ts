import { type Context, Hono } from 'hono';
import type {
  ReceivedMessage,
  ReceiveOptions,
  SessionHandle,
  SettlementOutcome,
} from '../../../shared/broker/broker.ts';
import { BrokerError, messageSizeExceeded } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { AnswerLimit } from '../../../shared/domain/messages/answer-limit.ts';
import type { StoredMessage } from '../../../shared/domain/messages/message.ts';
import { messageSize } from '../../../shared/domain/messages/outgoing-rules.ts';
import type { PayloadAccount } from '../../../shared/domain/messages/payload-account.ts';
import { BATCH_CONTENT_TYPE, printBatch } from '../format/batch-format.ts';
import { messageResponse } from '../format/message-response.ts';
import {
  parseMaxMessages,
  parsePeek,
  parseWait,
  retryHeaders,
  type Wait,
} from '../format/receive-query.ts';
import { parseDeferred } from '../format/sequence-numbers.ts';
import { optionalSessionOf, sessionIdOf } from '../format/session-query.ts';
import { parseSettlements, printSettlements } from '../format/settlements.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { createTrackingId, outcomeErrorOf } from '../routing/error-response.ts';
import { NAMES_LIMIT, SETTLEMENTS_LIMIT, withBody } from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';
import { countPayloads } from './count-payloads.ts';
import { serveSessions } from './sessions.ts';

/** Counted for each message in addition to its size, bytes. */
const { turnMessageBytes: MESSAGE_BYTES } = BUDGETS.connection;

/** The limit of a batch in a response of a server, which can carry a response of any length. */
const SERVER_BATCH_LIMIT: AnswerLimit = {
  form: 'batch',
  bytes: BUDGETS.request.printedBytes,
  oneMayExceed: true,
};

interface ReceiveRequest {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly path: EntityPath;
  readonly wait: Wait;
  /** Absent where the client wants one message, with its properties in headers, and no batch (semantics H17). */
  readonly maxMessages: number | undefined;
  readonly session: SessionHandle | undefined;
  /** Ends a wait when the caller loses its right or disconnects; empty where there is no wait. */
  readonly waitOptions: Pick<ReceiveOptions, 'beforeAttempt' | 'signal'>;
  readonly payloads: PayloadAccount;
}

/**
 * The routes that return messages: peek-lock and receive-and-delete of one or many messages, optionally after
 * settling earlier ones (semantics H19); deferred messages by sequence number; peek; and those of sessions.
 */
export function receiveRoutes(dependencies: HttpDependencies): Hono {
  const app = new Hono();
  serve(app, dependencies, 'peekLock', (c, path, confirmRight) =>
    receive(c, dependencies, path, 'peekLock', confirmRight),
  );
  serve(app, dependencies, 'receiveAndDelete', (c, path, confirmRight) =>
    receive(c, dependencies, path, 'receiveAndDelete', confirmRight),
  );
  serve(app, dependencies, 'receiveDeferred', async (c, path) => {
    const deferred = await withBody(dependencies, c.req.raw, NAMES_LIMIT, parseDeferred);
    const session = optionalSessionOf(c);
    const options = { ...deferred, session, answer: answerLimit(dependencies, 'batch') };
    return await countPayloads(dependencies, 'deferred', async (payloads) => {
      const messages = await dependencies.broker.receiveDeferred(path, { ...options, payloads });
      return batchAnswer(c, await printBatchInTurn(dependencies, messages), statusOf(options.mode));
    });
  });
  serve(app, dependencies, 'peek', async (c, path) => {
    const page = parsePeek(c.req.query('fromSequenceNumber'), c.req.query('maxMessages'));
    const options = { ...page, sessionId: sessionIdOf(c) };
    return await countPayloads(dependencies, 'peek', async (payloads) => {
      const messages = await dependencies.broker.peek(path, { ...options, payloads });
      const batch = await printBatchInTurn(dependencies, messages, 'peeked');
      requireFits(dependencies, messages, batch);
      return batchAnswer(c, batch, 200);
    });
  });
  serveSessions(app, dependencies);
  return app;
}

async function receive(
  c: Context,
  dependencies: HttpDependencies,
  path: EntityPath,
  mode: ReceiveRequest['mode'],
  confirmRight: () => Promise<void>,
): Promise<Response> {
  const wait = parseWait(c.req.query('timeout'), dependencies.receiveWaitMsMax);
  const maxMessages = parseMaxMessages(c.req.query('maxMessages'));
  // Without a wait, the check at the start of the request is enough.
  const waitOptions =
    wait.ms === 0 ? {} : { beforeAttempt: confirmRight, signal: c.req.raw.signal };
  const request = { mode, path, wait, maxMessages, waitOptions, session: optionalSessionOf(c) };
  const sessionId = request.session?.sessionId;
  // The memory of the settlements is released before the wait for messages.
  const { raw } = c.req;
  const outcomes = await withBody(dependencies, raw, SETTLEMENTS_LIMIT, async (body, account) =>
    body.length === 0
      ? undefined
      : dependencies.broker.settle(
          path,
          await parseSettlements(body, account, dependencies.workTurns, raw),
          sessionId,
        ),
  );
  const form = outcomes === undefined && maxMessages === undefined ? 'single' : 'batch';
  return await countPayloads(dependencies, form, (payloads) =>
    outcomes === undefined
      ? receiveOnly(c, dependencies, { ...request, payloads })
      : receiveAfterSettling(c, dependencies, { ...request, payloads }, outcomes),
  );
}

async function receiveOnly(
  c: Context,
  dependencies: HttpDependencies,
  request: ReceiveRequest,
): Promise<Response> {
  const form = request.maxMessages === undefined ? 'single' : 'batch';
  const messages = await receiveMessages(dependencies, request, answerLimit(dependencies, form));
  const status = statusOf(request.mode);
  const [first] = messages;
  if (first === undefined) return c.body(null, 204, retryHeaders(request.wait));
  if (request.maxMessages === undefined) {
    const single = messageResponse(c, request.path, first, status);
    if (fitsHeaders(dependencies, single)) return single;
  }
  return batchAnswer(c, await printBatchInTurn(dependencies, messages), status);
}

/** The status line and the headers that API Gateway adds, bytes. */
const API_GATEWAY_HEADER_BYTES = 512;

/** Whether API Gateway accepts the headers of a response. If not, the message is sent in a batch (semantics H17). */
function fitsHeaders({ answerBytesMax }: HttpDependencies, { headers }: Response): boolean {
  if (answerBytesMax === undefined) return true;
  let bytes = API_GATEWAY_HEADER_BYTES;
  for (const [name, value] of headers) bytes += `${name}: ${value}\r\n`.length;
  return bytes <= LIMITS.answerHeaderBytes;
}

/** 201 for a peek-lock, since it creates a lock (semantics H1). */
function statusOf(mode: ReceiveRequest['mode']): 200 | 201 {
  return mode === 'peekLock' ? 201 : 200;
}

/** Prints a batch; a long one in a turn of the event loop, since many together would stall the process. */
async function printBatchInTurn(
  { workTurns }: HttpDependencies,
  ...[messages, view]: Parameters<typeof printBatch>
): Promise<string> {
  const bytes = messages.reduce(
    (sum, { message }) => sum + MESSAGE_BYTES + messageSize(message),
    0,
  );
  if (bytes > BUDGETS.delivery.turnBytes) await workTurns.next();
  return printBatch(messages, view);
}

function batchAnswer(c: Context, batch: string, status: 200 | 201): Response {
  return c.body(batch, status, { 'Content-Type': BATCH_CONTENT_TYPE });
}

/** Responds 200 even where the receive is refused, so that the client gets the settlement outcomes. */
async function receiveAfterSettling(
  c: Context,
  dependencies: HttpDependencies,
  request: ReceiveRequest,
  outcomes: readonly SettlementOutcome[],
): Promise<Response> {
  const settlements = `"settlements":${printSettlements(outcomes, dependencies.random)}`;
  const headers = { 'Content-Type': 'application/json' };
  try {
    const messages = await receiveMessages(
      dependencies,
      request,
      answerLimit(dependencies, 'batch', settlements),
    );
    const retry = messages.length === 0 ? retryHeaders(request.wait) : {};
    const batch = await printBatchInTurn(dependencies, messages);
    return c.body(`{${settlements},"messages":${batch}}`, 200, { ...headers, ...retry });
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    const printedError = JSON.stringify(
      outcomeErrorOf(error, createTrackingId(dependencies.random)),
    );
    return c.body(`{${settlements},"messages":[],"error":${printedError}}`, 200, headers);
  }
}

/** The limit of the messages in a response that also carries `other` text. */
function answerLimit(
  { answerBytesMax }: HttpDependencies,
  form: AnswerLimit['form'],
  other = '',
): AnswerLimit | undefined {
  if (answerBytesMax === undefined) return form === 'single' ? undefined : SERVER_BATCH_LIMIT;
  const extra = Math.max(0, Buffer.byteLength(other) - LIMITS.answerExtraBytes);
  const { answerHeaderBytes: headerBytes } = LIMITS;
  return { form, bytes: Math.max(0, answerBytesMax - extra), headerBytes };
}

/** Refuses a peek whose first message, read whatever its size, does not fit. Throws MessageSizeExceeded. */
function requireFits(
  { answerBytesMax = Number.POSITIVE_INFINITY }: HttpDependencies,
  [first]: readonly StoredMessage[],
  batch: string,
): void {
  const bytes = Buffer.byteLength(batch);
  if (first === undefined || bytes <= answerBytesMax) return;
  throw messageSizeExceeded(
    `The message with sequence number ${first.sequenceNumber} takes ${bytes} bytes in an answer, which is more than the ${answerBytesMax} bytes that one can carry. Peek at it by AMQP, or go on with fromSequenceNumber=${first.sequenceNumber + 1n}.`,
  );
}

function receiveMessages(
  { broker }: HttpDependencies,
  { path, mode, maxMessages = 1, wait, session, waitOptions, payloads }: ReceiveRequest,
  answer: AnswerLimit | undefined,
): Promise<readonly ReceivedMessage[]> {
  return broker.receive(path, {
    mode,
    maxMessages,
    waitMs: wait.ms,
    ...waitOptions,
    payloads,
    answer,
    session,
  });
}
