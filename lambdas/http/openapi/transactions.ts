import {
  answer,
  EXAMPLE_LOCK_TOKEN,
  json,
  type OperationDetails,
  requestBody,
} from './components.ts';

const lockToken = EXAMPLE_LOCK_TOKEN;

/** The details of the transaction operation, by route name. */
export const TRANSACTION_OPERATIONS = {
  transact: {
    description:
      'Needs Send on each entity to which it sends, and Listen on the entity whose messages it settles. A refused transaction changes nothing; the error has the index of the operation that caused it, if one did.',
    body: requestBody(
      json(
        'Transaction',
        {
          operations: [
            { send: 'orders', messages: [{ Body: 'paid' }, { Body: 'to be packed' }] },
            { complete: 'orders', lockToken },
          ],
        },
        {
          id: 'order-7',
          operations: [
            { renew: 'orders', lockToken },
            { send: 'orders', messages: [{ Body: 'paid' }] },
            { send: 'orders', amqp: 'AFN1oAoAU3ehBWhlbGxv' },
          ],
        },
      ),
    ),
    answers: {
      200: answer(
        'The transaction is done. A sequence number is null if the message was not stored under one.',
        json('TransactionOutcomes', {
          operations: [
            { sequenceNumbers: [5, 6] },
            { settled: true },
            {
              lockedUntilUtc: 'Thu, 15 Jan 2026 12:01:00 GMT',
              lockedUntil: '2026-01-15T12:01:00.250Z',
            },
          ],
        }),
      ),
    },
    refusals: [400, 401, 403, 404, 409, 410, 500, 503, 504],
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
