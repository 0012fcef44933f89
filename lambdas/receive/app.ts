import type { Context, Hono } from 'hono';
import type { ReceivedMessage, Settlement } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../shared/domain/entity-path.ts';
import { BATCH_CONTENT_TYPE, printBatch } from '../http/batch-format.ts';
import { createTrackingId, showError } from '../http/error-response.ts';
import { messageResponse } from '../http/message-response.ts';
import type { HttpParts } from '../http/parts.ts';
import { parseMaxMessages, parseWait, type Wait } from '../http/receive-query.ts';
import { readBody } from '../http/request-body.ts';
import { createApp, serve } from '../http/routing.ts';
import { parseSettlements, printSettlements } from '../http/settlements.ts';

interface ReceiveRequest {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly path: EntityPath;
  readonly wait: Wait;
  /** Absent where one message is wanted in the form of headers. */
  readonly maxMessages: number | undefined;
}

/** Peek-lock and receive-and-delete, of one or many, perhaps after settling earlier ones (design §4). */
export function receiveRoutes(parts: HttpParts): Hono {
  const app = createApp(parts);
  serve(app, parts, 'peekLock', (c, path) => receive(c, parts, path, 'peekLock'));
  serve(app, parts, 'receiveAndDelete', (c, path) => receive(c, parts, path, 'receiveAndDelete'));
  return app;
}

async function receive(
  c: Context,
  parts: HttpParts,
  path: EntityPath,
  mode: ReceiveRequest['mode'],
): Promise<Response> {
  const wait = parseWait(c.req.query('timeout'), parts.receiveWaitMsMax);
  const maxMessages = parseMaxMessages(c.req.query('maxMessages'));
  const request: ReceiveRequest = { mode, path, wait, maxMessages };
  const body = await readBody(c.req.raw);
  return body.length === 0
    ? receiveOnly(c, parts, request)
    : settleAndReceive(c, parts, request, parseSettlements(body));
}

async function receiveOnly(
  c: Context,
  parts: HttpParts,
  request: ReceiveRequest,
): Promise<Response> {
  const messages = await messagesFor(parts, request);
  const status = request.mode === 'peekLock' ? 201 : 200;
  const [first] = messages;
  if (first === undefined) return c.body(null, 204, retryHeaders(request.wait));
  if (request.maxMessages === undefined) return messageResponse(c, request.path, first, status);
  return c.body(printBatch(messages), status, { 'Content-Type': BATCH_CONTENT_TYPE });
}

/** Answers 200 whatever came of the receive: what was settled must not get lost with it. */
async function settleAndReceive(
  c: Context,
  parts: HttpParts,
  request: ReceiveRequest,
  settlements: readonly Settlement[],
): Promise<Response> {
  const outcomes = await parts.broker.settle(request.path, settlements);
  const settled = `"settlements":${printSettlements(outcomes, parts.random)}`;
  const headers = { 'Content-Type': 'application/json' };
  try {
    const messages = await messagesFor(parts, request);
    const retry = messages.length === 0 ? retryHeaders(request.wait) : {};
    return c.body(`{${settled},"messages":${printBatch(messages)}}`, 200, { ...headers, ...retry });
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    const shown = JSON.stringify(showError(error, createTrackingId(parts.random)));
    return c.body(`{${settled},"messages":[],"error":${shown}}`, 200, headers);
  }
}

function messagesFor(
  { broker }: HttpParts,
  { path, mode, maxMessages = 1, wait }: ReceiveRequest,
): Promise<readonly ReceivedMessage[]> {
  return broker.receive(path, { mode, maxMessages, waitMs: wait.ms });
}

/** Where we waited less than was asked for, the client goes on waiting by asking again. */
function retryHeaders({ shortened }: Wait): Record<string, string> {
  return shortened ? { 'Retry-After': '0' } : {};
}
