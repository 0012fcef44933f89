import { Hono } from 'hono';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import {
  decodeSends,
  type ParsedTransaction,
  parseTransaction,
  printTransaction,
} from '../format/transaction-json.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { readExactBatch } from '../message-formats/exact-batch.ts';
import { authorizeBeforeBody, authorizeEntity } from '../routing/access.ts';
import { type BodyLimit, jsonLimit, withBody } from '../routing/request-body.ts';
import { honoPath, routeNamed } from '../routing/routing.ts';

const AUTHORIZED_LIMIT = jsonLimit(BUDGETS.request.transactionBytes);
/** The limit before authorization: the token's rule may belong to an entity that only the body names. */
const UNAUTHORIZED_LIMIT: BodyLimit = {
  ...jsonLimit(BUDGETS.connection.unauthorized.requestBytes),
  isAuthorized: false,
  tooLong: (length) =>
    new BrokerError(
      'Unauthenticated',
      `InvalidSignature: A body of ${length} bytes needs a token that a rule of the namespace, or of the entity that the token is for, has signed. Use a token for one of the entities, signed by one of its rules, or send at most ${BUDGETS.connection.unauthorized.requestBytes} bytes.`,
      { subCode: '40103' },
    ),
};

/** The route of transactions: several operations, all or nothing (semantics U1). */
export function transactionRoutes(dependencies: HttpDependencies): Hono {
  const app = new Hono();
  const { method, path, rights } = routeNamed('transact');
  app.on(method, honoPath(path), async (c) => {
    const isAuthorized = await authorizeBeforeBody(dependencies, c.req.raw, rights);
    const limit = isAuthorized ? AUTHORIZED_LIMIT : UNAUTHORIZED_LIMIT;
    const outcomes = await withBody(dependencies, c.req.raw, limit, async (body, account) => {
      const parsed = parseTransaction(body);
      await authorizeAll(dependencies, c.req.raw, parsed.operations);
      account.authorize();
      const transaction = await decodeSends(parsed, async (encoded) => {
        await dependencies.workTurns.next(c.req.raw);
        return readExactBatch(encoded, account);
      });
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
  operations: ParsedTransaction['operations'],
): Promise<void> {
  const authorized = new Set<string>();
  for (const [index, { kind, path }] of operations.entries()) {
    const right = kind === 'settle' || kind === 'renew' ? 'Listen' : 'Send';
    const rightAndEntity = `${right} ${path.key}`;
    if (authorized.has(rightAndEntity)) continue;
    authorized.add(rightAndEntity);
    try {
      await authorizeEntity(dependencies, request, path, [right]);
    } catch (error) {
      throw error instanceof BrokerError ? error.ofOperation(index) : error;
    }
  }
}
