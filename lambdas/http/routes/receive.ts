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
import type { PayloadAccount } from '../../../shared/domain/messages/payload-account.ts';
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
import {
  type AnswerFormat,
  answerFormatOf,
  type PrintedAnswer,
} from '../message-formats/answer-format.ts';
import { acceptsExact } from '../message-formats/exact-type.ts';
import { createTrackingId, outcomeErrorOf } from '../routing/error-response.ts';
import { NAMES_LIMIT, SETTLEMENTS_LIMIT, withBody } from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';
import { countPayloads } from './count-payloads.ts';
import { serveReceiverFacts } from './entity-facts.ts';
import { serveSessions } from './sessions.ts';

/** The limit of several messages in a response of a server, which can carry a response of any length. */
const SERVER_LIMIT: Omit<AnswerLimit, 'form'> = {
  bytes: BUDGETS.request.printedBytes,
  oneMayExceed: true,
};

interface ReceiveRequest {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly path: EntityPath;
  readonly wait: Wait;
  readonly maxMessages: number;
  /** Whether the client wants one message, with its properties in headers, and no batch (semantics H17). */
  readonly isSingle: boolean;
  readonly format: AnswerFormat;
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
    const format = answerFormatOf(c.req.raw);
    const options = { ...deferred, session, answer: answerLimit(dependencies, format.form) };
    return await countPayloads(dependencies, 'deferred', async (payloads) => {
      const messages = await dependencies.broker.receiveDeferred(path, { ...options, payloads });
      const printed = await format.print(messages, 'received', printing(c, dependencies));
      return answer(c, printed, statusOf(options.mode));
    });
  });
  serve(app, dependencies, 'peek', async (c, path) => {
    const page = parsePeek(c.req.query('fromSequenceNumber'), c.req.query('maxMessages'));
    const options = { ...page, sessionId: sessionIdOf(c) };
    return await countPayloads(dependencies, 'peek', async (payloads) => {
      const messages = await dependencies.broker.peek(path, { ...options, payloads });
      const format = answerFormatOf(c.req.raw);
      const printed = await format.print(messages, 'peeked', printing(c, dependencies));
      requireFits(dependencies, messages, printed);
      return answer(c, printed, 200, { Vary: 'Accept' });
    });
  });
  serveSessions(app, dependencies);
  serveReceiverFacts(app, dependencies);
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
  const session = optionalSessionOf(c);
  // The memory of the settlements is released before the wait for messages.
  const { raw } = c.req;
  const outcomes = await withBody(dependencies, raw, SETTLEMENTS_LIMIT, async (body, account) =>
    body.length === 0
      ? undefined
      : dependencies.broker.settle(
          path,
          await parseSettlements(body, account, dependencies.workTurns, raw),
          session?.sessionId,
        ),
  );
  const isSingle = outcomes === undefined && maxMessages === undefined && !acceptsExact(raw);
  const format = answerFormatOf(raw);
  return await countPayloads(dependencies, isSingle ? 'single' : 'batch', (payloads) => {
    const waiting = { wait, waitOptions, maxMessages: maxMessages ?? 1 };
    const request = { mode, path, ...waiting, isSingle, format, session, payloads };
    return outcomes === undefined
      ? receiveOnly(c, dependencies, request)
      : receiveAfterSettling(c, dependencies, request, outcomes);
  });
}

async function receiveOnly(
  c: Context,
  dependencies: HttpDependencies,
  request: ReceiveRequest,
): Promise<Response> {
  const { format, isSingle } = request;
  const limit = answerLimit(dependencies, isSingle ? 'single' : format.form);
  const messages = await receiveMessages(dependencies, request, limit);
  const status = statusOf(request.mode);
  const [first] = messages;
  if (first === undefined) return c.body(null, 204, retryHeaders(request.wait));
  if (isSingle) {
    const single = messageResponse(c, request.path, first, status);
    if (fitsHeaders(dependencies, single)) return single;
  }
  return answer(c, await format.print(messages, 'received', printing(c, dependencies)), status);
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

function printing(c: Context, { workTurns }: HttpDependencies) {
  return { workTurns, request: c.req.raw };
}

function answer(
  c: Context,
  { body, headers }: PrintedAnswer,
  status: 200 | 201,
  others: Record<string, string> = {},
): Response {
  return c.body(body, status, { ...headers, ...others });
}

/** Responds 200 even where the receive is refused, so that the client gets the settlement outcomes. */
async function receiveAfterSettling(
  c: Context,
  dependencies: HttpDependencies,
  request: ReceiveRequest,
  outcomes: readonly SettlementOutcome[],
): Promise<Response> {
  const { format } = request;
  const settlements = printSettlements(outcomes, dependencies.random);
  try {
    const messages = await receiveMessages(
      dependencies,
      request,
      answerLimit(dependencies, format.form, settlements),
    );
    const retry = messages.length === 0 ? retryHeaders(request.wait) : {};
    const printed = await format.printWith({ settlements }, messages, printing(c, dependencies));
    return answer(c, printed, 200, retry);
  } catch (cause) {
    if (!(cause instanceof BrokerError)) throw cause;
    const error = JSON.stringify(outcomeErrorOf(cause, createTrackingId(dependencies.random)));
    return answer(
      c,
      await format.printWith({ settlements, error }, [], printing(c, dependencies)),
      200,
    );
  }
}

/** The limit of the messages in a response that also carries `other` text. */
function answerLimit(
  { answerBytesMax }: HttpDependencies,
  form: AnswerLimit['form'],
  other = '',
): AnswerLimit | undefined {
  if (answerBytesMax === undefined) {
    return form === 'single' ? undefined : { form, ...SERVER_LIMIT };
  }
  const extra = Math.max(0, Buffer.byteLength(other) - LIMITS.answerExtraBytes);
  const { answerHeaderBytes: headerBytes } = LIMITS;
  return { form, bytes: Math.max(0, answerBytesMax - extra), headerBytes };
}

/** Refuses a peek whose first message, read whatever its size, does not fit. Throws MessageSizeExceeded. */
function requireFits(
  { answerBytesMax = Number.POSITIVE_INFINITY }: HttpDependencies,
  [first]: readonly StoredMessage[],
  { body }: PrintedAnswer,
): void {
  const bytes = Buffer.byteLength(body);
  if (first === undefined || bytes <= answerBytesMax) return;
  throw messageSizeExceeded(
    `The message with sequence number ${first.sequenceNumber} takes ${bytes} bytes in an answer, which is more than the ${answerBytesMax} bytes that one can carry. Peek at it by AMQP, or go on with fromSequenceNumber=${first.sequenceNumber + 1n}.`,
  );
}

function receiveMessages(
  { broker }: HttpDependencies,
  { path, mode, maxMessages, wait, session, waitOptions, payloads }: ReceiveRequest,
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
