import { RefusalError, refusalText } from '../../client/client-errors.ts';
import { BrokerError, isBrokerErrorCode } from '../../shared/domain/broker-error.ts';

/**
 * The refusal of a service as a BrokerError, whose sentence has the code and the tracking id; any other error
 * unchanged. A refusal for want of a right stays a RefusalError: it is about the connection string, not an entity.
 */
export function brokerErrorOf(error: unknown): unknown {
  if (!(error instanceof RefusalError) || error.status === 401) return error;
  const { code } = error;
  return isBrokerErrorCode(code)
    ? new BrokerError(code, refusalText(error), { cause: error })
    : error;
}
