import { type Context, Hono } from 'hono';
import type { SettlementAction } from '../../../shared/broker/broker.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { printLockedUntil } from '../format/broker-properties.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import { sessionIdOf } from '../format/session-query.ts';
import {
  parseRenewals,
  parseSettlements,
  printRenewals,
  printSettlements,
} from '../format/settlements.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { SETTLEMENTS_LIMIT, withBody } from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';
import { serveOperator } from './operate.ts';

const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The routes that settle messages and renew their locks, one by the address of its lock (semantics #147) or many in
 * one call, and those by which an operator changes messages without a lock.
 */
export function settleRoutes(dependencies: HttpDependencies): Hono {
  const { broker, random } = dependencies;
  const app = new Hono();

  serve(app, dependencies, 'complete', (c, path) =>
    settleOne(c, broker, path, { kind: 'complete' }),
  );
  serve(app, dependencies, 'abandon', (c, path) => settleOne(c, broker, path, { kind: 'abandon' }));
  serve(app, dependencies, 'renewLock', async (c, path) => {
    const [outcome] = await broker.renewLocks(path, [lockTokenOf(c)]);
    if (outcome?.refusal !== undefined) throw outcome.refusal;
    assert(outcome?.lockedUntil !== undefined, 'a renewal has a new end or a refusal');
    return c.body(null, 200, { BrokerProperties: printLockedUntil(outcome.lockedUntil) });
  });

  serve(app, dependencies, 'settle', async (c, path) => {
    const request = c.req.raw;
    const outcomes = await withBody(
      dependencies,
      request,
      SETTLEMENTS_LIMIT,
      async (body, account) => {
        const settlements = await parseSettlements(body, account, dependencies.workTurns, request);
        return await broker.settle(path, settlements, sessionIdOf(c));
      },
    );
    return jsonAnswer(c, `{"settlements":${printSettlements(outcomes, random)}}`);
  });
  serve(app, dependencies, 'renewLocks', async (c, path) => {
    const outcomes = await withBody(dependencies, c.req.raw, SETTLEMENTS_LIMIT, (body, account) =>
      broker.renewLocks(path, parseRenewals(body, account)),
    );
    return jsonAnswer(c, `{"renewals":${printRenewals(outcomes, random)}}`);
  });

  serveOperator(app, dependencies);
  return app;
}

async function settleOne(
  c: Context,
  broker: HttpDependencies['broker'],
  path: EntityPath,
  action: SettlementAction,
): Promise<Response> {
  const [outcome] = await broker.settle(
    path,
    [{ lockToken: lockTokenOf(c), action }],
    sessionIdOf(c),
  );
  assert(outcome !== undefined, 'every settlement has an outcome');
  if (outcome.refusal !== undefined) throw outcome.refusal;
  return c.body(null, 200);
}

/** The token alone names the lock: what stands for the message is not read (semantics #147). */
function lockTokenOf(c: Context): string {
  const token = c.req.param('lockToken') ?? '';
  if (GUID.test(token)) return token.toLowerCase();
  throw argumentError(`The lock token '${token.slice(0, 64)}' is not a GUID.`);
}
