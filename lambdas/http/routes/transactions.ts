import type { Hono } from 'hono';
import type { TransactionOperation } from '../../../shared/broker/broker.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import { parseTransaction, printTransaction } from '../format/transaction-json.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { authorizeBeforeBody, authorizeEntity } from '../routing/access.ts';
import { type BodyLimit, jsonLimit, withBody } from '../routing/request-body.ts';
import { createApp, honoPath, routeNamed } from '../routing/routing.ts';

const PROVED_LIMIT = jsonLimit(BUDGETS.request.transactionBytes);
/** A token for the whole namespace may be signed by a rule of any entity, which only the body names. */
const UNPROVED_LIMIT: BodyLimit = {
  ...jsonLimit(BUDGETS.connection.beforeRight.requestBytes),
  isProved: false,
  tooLong: (length) =>
    new BrokerError(
      'Unauthenticated',
      `InvalidSignature: No rule of the namespace, nor of an entity that the token is for, has signed it, which a body of ${length} bytes needs. Use a token for one of the entities, signed by a rule of it, or send ${BUDGETS.connection.beforeRight.requestBytes} bytes at most.`,
      { subCode: '40103' },
    ),
};

/** Several operations, all or nothing (semantics U1). */
export function transactionRoutes(dependencies: HttpDependencies): Hono {
  const app = createApp(dependencies);
  const { method, path, rights } = routeNamed('transact');
  app.on(method, honoPath(path), async (c) => {
    const isProved = await authorizeBeforeBody(dependencies, c.req.raw, rights);
    const limit = isProved ? PROVED_LIMIT : UNPROVED_LIMIT;
    const outcomes = await withBody(dependencies, c.req.raw, limit, async (body, account) => {
      const transaction = parseTransaction(body);
      await authorizeAll(dependencies, c.req.raw, transaction.operations);
      account.prove();
      return await dependencies.broker.transact(transaction);
    });
    return jsonAnswer(c, printTransaction(outcomes));
  });
  return app;
}

/** Send on each entity that is sent to, Listen on the one whose messages are settled. */
async function authorizeAll(
  dependencies: HttpDependencies,
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
      await authorizeEntity(dependencies, request, path, [right]);
    } catch (error) {
      throw error instanceof BrokerError ? error.ofOperation(place) : error;
    }
  }
}
