import { answer, json, type OperationDetails, requestBody } from './components.ts';
import { ANY, NAMING_MESSAGES, numbers } from './messages.ts';
import { schemaNamed } from './schemas.ts';

const outcomes = answer(
  'The outcome of each sequence number, in order.',
  json('Outcomes', {
    outcomes: [
      { sequenceNumber: 1, done: true },
      { sequenceNumber: 2, done: false },
    ],
  }),
);

const operate: OperationDetails = {
  parameters: ['sessionId'],
  body: requestBody(numbers),
  answers: { 200: outcomes },
  refusals: ANY,
};

/** The details of the operations by which an operator changes messages without receiving them, by route name. */
export const OPERATOR_OPERATIONS = {
  breakLock: operate,
  reactivate: operate,
  deadLetter: {
    ...operate,
    body: requestBody(
      json('DeadLetters', {
        sequenceNumbers: [1, 2],
        deadLetterReason: 'Manual',
        deadLetterErrorDescription: 'The customer is unknown.',
        properties: { Checked: true },
      }),
    ),
  },
  delete: {
    parameters: ['sessionId'],
    body: requestBody(
      json(
        'Delete',
        { sequenceNumbers: [1, 2] },
        { maxMessages: 100, enqueuedBefore: '2020-01-01T00:00:00Z' },
      ),
    ),
    answers: {
      200: answer('The outcome of each sequence number, or the number of deleted messages.', {
        'application/json': {
          schema: { oneOf: [schemaNamed('Outcomes'), schemaNamed('Deleted')] },
          examples: {
            byNumber: { value: { outcomes: [{ sequenceNumber: 1, done: true }] } },
            old: { value: { deleted: 7 } },
          },
        },
      }),
    },
    refusals: ANY,
  },
  resubmit: {
    description: 'Only for dead-letter queues.',
    body: requestBody(json('Resubmit', { maxMessages: 100, to: 'orders' }), false),
    answers: {
      200: answer(
        'The number of messages that were sent again.',
        json('Resubmitted', { resubmitted: 7 }),
      ),
    },
    refusals: NAMING_MESSAGES,
  },
  purge: {
    body: requestBody(json('Purge', {}), false),
    answers: { 200: answer('The queue is empty.', json('Purge', {})) },
    refusals: [...ANY, 409],
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
