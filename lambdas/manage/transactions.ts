import type { Hono } from 'hono';
import type { TransactionOperation } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { authorizeAt, authorizeLikely } from '../http/access.ts';
import { jsonAnswer } from '../http/json-answer.ts';
import type { HttpParts } from '../http/parts.ts';
import { readBody } from '../http/request-body.ts';
import { createApp, honoPath, routeNamed } from '../http/routing.ts';
import { parseTransaction, printTransaction } from './transaction-json.ts';

/** Several operations, all or nothing (semantics §9). */
export function transactionRoutes(parts: HttpParts): Hono {
  const app = createApp(parts);
  const { method, path, rights } = routeNamed('transact');
  app.on(method, honoPath(path), async (c) => {
    await authorizeLikely(parts, c.req.raw, rights);
    const transaction = parseTransaction(await readBody(c.req.raw));
    await authorizeAll(parts, c.req.raw, transaction.operations);
    return jsonAnswer(c, printTransaction(await parts.broker.transact(transaction)));
  });
  return app;
}

/** Send on each entity that is sent to, Listen on the one whose messages are settled. */
async function authorizeAll(
  parts: HttpParts,
  request: Request,
  operations: readonly TransactionOperation[],
): Promise<void> {
  const seen = new Set<string>();
  for (const [place, { kind, path }] of operations.entries()) {
    const right = kind === 'send' ? 'Send' : 'Listen';
    const question = `${right} ${path.key}`;
    if (seen.has(question)) continue;
    seen.add(question);
    try {
      await authorizeAt(parts, request, path, [right]);
    } catch (error) {
      throw error instanceof BrokerError ? error.ofOperation(place) : error;
    }
  }
}
