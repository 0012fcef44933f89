import { BrokerError } from '../../domain/broker-error.ts';

/** Does the part of a transaction that belongs to one operation; a refusal then names that operation (semantics U2). */
export async function inOperation<Value>(
  operationIndex: number,
  work: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof BrokerError ? error.ofOperation(operationIndex) : error;
  }
}
