import { BrokerError } from '../../shared/domain/broker-error.ts';
import { pause } from '../../shared/domain/scheduler.ts';
import { type Request, writeReply } from '../requests/request.ts';
import type { RequestMemory } from '../requests/request-memory.ts';
import { addressPath } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { mapError } from '../service/error-mapping.ts';
import { int, str, symbol, textOf } from '../wire/value.ts';
import type { Authorization } from './authorization.ts';

/** The token type of SAS tokens (semantics W3). */
const SIGNATURE = 'servicebus.windows.net:sastoken';
/** The token type that the vendor's Python client sends for every token, SAS tokens too. */
const WEB_TOKEN = 'jwt';

/**
 * Answers a `put-token` request to `$cbs`, which stores a token for an address. The encoded reply carries the
 * status of any error. No reply or log contains the text of a token.
 */
export async function answerPutToken(
  { dependencies, authorization, limits }: ClientContext,
  request: Request,
  memory: RequestMemory,
): Promise<Buffer> {
  const address = textOf(request.fields.get('name')) ?? '';
  try {
    memory.hold(request.heldBytes);
    await limits.check(() => putToken(authorization, request, address));
    return writeReply(request, {
      'status-code': int(202),
      'status-description': str('Accepted'),
    });
  } catch (error) {
    await pause(dependencies.scheduler, authorization.refusalPauseMs);
    const { condition, description, status } = mapError(dependencies, error, addressPath(address));
    return writeReply(request, {
      'status-code': int(status),
      'status-description': str(description),
      'error-condition': symbol(condition),
    });
  }
}

async function putToken(authorization: Authorization, request: Request, address: string) {
  if (request.operation !== 'put-token') {
    throw new BrokerError('NotSupported', `'${request.operation}' is not an operation of $cbs.`);
  }
  const type = textOf(request.fields.get('type'));
  const token = textOf(request.body) ?? '';
  const isSignature = type === WEB_TOKEN && /^SharedAccessSignature\s/i.test(token);
  if (type !== SIGNATURE && !isSignature && !authorization.isTrusted) {
    throw new BrokerError('NotSupported', `Tokens of the type '${type}' are not supported.`);
  }
  await authorization.putToken(address, token);
}
