import {
  answer,
  EXAMPLE_LOCK_TOKEN,
  json,
  type OperationDetails,
  requestBody,
} from './components.ts';

/** What the contract says of transactions. */

const lockToken = EXAMPLE_LOCK_TOKEN;

/** By the names of the route table. */
export const TRANSACTION_OPERATIONS = {
  transact: {
    description:
      'Needs Send on each entity that is sent to, and Listen on the one whose messages are settled. A refusal has changed nothing, and names the operation that was the reason where one was.',
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
          ],
        },
      ),
    ),
    answers: {
      200: answer(
        'All of it is done. A number is null where the message was not stored under one.',
        json('TransactionOutcomes', {
          operations: [
            { sequenceNumbers: [5, 6] },
            { settled: true },
            { lockedUntilUtc: 'Thu, 15 Jan 2026 12:01:00 GMT' },
          ],
        }),
      ),
    },
    refusals: [400, 401, 403, 404, 409, 410, 500, 501, 503, 504],
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
