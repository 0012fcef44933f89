import { BrokerError } from '../../domain/broker-error.ts';

/** Does a part of a transaction that one operation asks for: a refusal of it says so. */
export async function inOperation<Value>(
  place: number,
  work: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof BrokerError ? error.ofOperation(place) : error;
  }
}
