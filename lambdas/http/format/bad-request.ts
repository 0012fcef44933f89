import { BrokerError } from '../../../shared/domain/broker-error.ts';

/** The refusal of a request that is not well-formed: ArgumentError, with the subcode 40000. */
export function badRequest(sentence: string, cause?: unknown): BrokerError {
  return new BrokerError('ArgumentError', sentence, { cause, subCode: '40000' });
}
