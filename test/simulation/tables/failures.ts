import {
  type AttributeValue,
  type CancellationReason,
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  IdempotentParameterMismatchException,
  ThrottlingException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';

/** The service's refusals, as exceptions of the SDK. */

/** The request breaks a rule of the API. */
export function validationFailed(message: string): DynamoDBServiceException {
  return new DynamoDBServiceException({
    name: 'ValidationException',
    $fault: 'client',
    message,
    $metadata: refused(),
  });
}

/** A condition does not hold; `item` = the existing item, if the request asks for it. */
export function conditionFailed(
  item: Record<string, AttributeValue> | undefined,
): ConditionalCheckFailedException {
  return new ConditionalCheckFailedException({
    message: 'The conditional request failed',
    $metadata: refused(),
    ...(item !== undefined && { Item: item }),
  });
}

/** A transaction holds the item of a single write. */
export function transactionConflict(): TransactionConflictException {
  return new TransactionConflictException({
    message: 'Transaction is ongoing for the item',
    $metadata: refused(),
  });
}

/** An item collection has no units left in this second. */
export function throttled(): ThrottlingException {
  return new ThrottlingException({ message: THROTTLED, $metadata: refused() });
}

/** The message of throttling, also as a reason of a cancelled transaction. */
export const THROTTLED = 'Throughput exceeds the current capacity of your table or index.';

/** A transaction is cancelled; there is one reason for each of its items. */
export function transactionCanceled(
  reasons: readonly CancellationReason[],
): TransactionCanceledException {
  const codes = reasons.map(({ Code }) => Code).join(', ');
  return new TransactionCanceledException({
    message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    $metadata: refused(),
    CancellationReasons: [...reasons],
  });
}

/** A transaction with the same token is in progress. */
export function transactionInProgress(): TransactionInProgressException {
  return new TransactionInProgressException({
    message: 'Transaction is in progress',
    $metadata: refused(),
  });
}

/** A different transaction with the same token was applied. */
export function parameterMismatch(): IdempotentParameterMismatchException {
  return new IdempotentParameterMismatchException({
    message: 'Request with same ClientRequestToken but different parameters',
    $metadata: refused(),
  });
}

/** Storage sends something that the simulation does not support yet. */
export class NotSimulated extends Error {}

export function notSimulated(what: string): NotSimulated {
  return new NotSimulated(`The simulated tables do not support ${what}.`);
}

/** A new object for each error, because the SDK adds to it. */
function refused(): { httpStatusCode: number } {
  return { httpStatusCode: 400 };
}
