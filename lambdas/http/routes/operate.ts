import type { Context, Hono } from 'hono';
import type { OperatorAction } from '../../../shared/broker/broker.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { jsonAnswer } from '../format/json-answer.ts';
import {
  parseDeadLetters,
  parseDelete,
  parseResubmit,
  printOutcomes,
  requirePurge,
} from '../format/operator-json.ts';
import { parseSequenceNumbers } from '../format/sequence-numbers.ts';
import { sessionIdOf } from '../format/session-query.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { authorizeEntity, IamRequest } from '../routing/access.ts';
import { NAMES_LIMIT, withBody } from '../routing/request-body.ts';
import { serve } from '../routing/routing.ts';

/** Adds the routes by which an operator changes messages without receiving them, singly or in bulk. */
export function serveOperator(app: Hono, dependencies: HttpDependencies): void {
  const { broker } = dependencies;
  const operate = async (
    c: Context,
    path: EntityPath,
    action: OperatorAction,
    numbers: readonly bigint[],
  ): Promise<Response> => {
    const isDone = await broker.operate(path, action, numbers, sessionIdOf(c));
    return jsonAnswer(c, printOutcomes(numbers, isDone));
  };

  const read = <Read>(c: Context, parse: (body: Uint8Array) => Read): Promise<Read> =>
    withBody(dependencies, c.req.raw, NAMES_LIMIT, parse);

  for (const kind of ['breakLock', 'reactivate'] as const) {
    serve(app, dependencies, kind, async (c, path) =>
      operate(c, path, { kind }, await read(c, parseSequenceNumbers)),
    );
  }
  serve(app, dependencies, 'deadLetter', async (c, path) => {
    const { sequenceNumbers, action } = await read(c, parseDeadLetters);
    return operate(c, path, action, sequenceNumbers);
  });
  serve(app, dependencies, 'delete', async (c, path) => {
    const request = await read(c, parseDelete);
    if ('sequenceNumbers' in request) {
      return operate(c, path, { kind: 'delete' }, request.sequenceNumbers);
    }
    const { maxMessages, enqueuedBefore: before } = request;
    const sessionId = sessionIdOf(c);
    const deleted = await broker.deleteMessages(path, { maxMessages, before, sessionId });
    return jsonAnswer(c, JSON.stringify({ deleted }));
  });
  serve(app, dependencies, 'resubmit', async (c, path) => {
    const options = await read(c, parseResubmit);
    if (options.to !== undefined) await authorizeDestination(dependencies, c.req.raw, options.to);
    const resubmitted = await broker.resubmit(path, options);
    return jsonAnswer(c, JSON.stringify({ resubmitted }));
  });
  serve(app, dependencies, 'purge', async (c, path) => {
    await read(c, requirePurge);
    await broker.purge(path);
    return jsonAnswer(c, '{}');
  });
}

/**
 * Requires Send on the destination by the token of the request. Throws Unauthenticated, ServiceBusy; Forbidden if IAM
 * evaluated the path of the request alone.
 */
async function authorizeDestination(
  dependencies: HttpDependencies,
  request: Request,
  to: EntityPath,
): Promise<void> {
  if (request instanceof IamRequest && !request.allowsEveryPath) {
    throw new BrokerError(
      'Forbidden',
      "IAM evaluated the path of this request only, not that of the destination in 'to'. Receive the messages, and send them with POST /$transactions, which completes them at the same time.",
    );
  }
  await authorizeEntity(dependencies, request, to, ['Send']);
}
