import { BATCH_CONTENT_TYPE } from '../format/batch-format.ts';
import {
  answer,
  content,
  EXAMPLE_LOCK_TOKEN,
  header,
  json,
  type OpenApiObject,
  type OperationDetails,
  type RefusalStatus,
  requestBody,
} from './components.ts';
import { schemaNamed } from './schemas.ts';

/** What the contract says of the operations on messages, and of those of the service itself. */

const lockToken = EXAMPLE_LOCK_TOKEN;
const lockedUntilUtc = 'Thu, 15 Jan 2026 12:01:00 GMT';
const broker = {
  DeliveryCount: 1,
  EnqueuedSequenceNumber: 0,
  EnqueuedTimeUtc: 'Thu, 15 Jan 2026 12:00:00 GMT',
  MessageId: 'm-1',
  SequenceNumber: 1,
  State: 'Active',
  TimeToLive: 3600,
};
const locked = { ...broker, LockToken: lockToken, LockedUntilUtc: lockedUntilUtc };
const body = '{"order":1}';
const message = { Body: body, UserProperties: { Priority: 'High', Quantity: 7 } };
const lockLost = {
  code: 'MessageLockLost',
  message: 'The lock supplied is invalid.',
  trackingId: '2ba2e9e7-4a05-45b5-b2d8-0f8d5f1b8f0f',
  retryable: false,
};

/** One message, whose type is whatever its sender said. */
const anyBody = content('*/*', {}, [body]);
const batch = content(BATCH_CONTENT_TYPE, schemaNamed('Batch'), [
  [
    { Body: 'first', BrokerProperties: { MessageId: 'm-1' } },
    { Body: 'second', UserProperties: { Priority: 'Low', Order: { $long: '7' } } },
    { Body: '/wA=', BodyEncoding: 'base64' },
  ],
]);
const received = (BrokerProperties: object): OpenApiObject =>
  content(BATCH_CONTENT_TYPE, schemaNamed('ReceivedBatch'), [[{ ...message, BrokerProperties }]]);
const settlements = json('Settlements', {
  settlements: [
    { lockToken, outcome: 'complete' },
    { lockToken, outcome: 'abandon', delaySeconds: 30, properties: { Tries: 2 } },
    { lockToken, outcome: 'defer' },
    { lockToken, outcome: 'deadLetter', deadLetterReason: 'NoPrice' },
  ],
});
const settled = [
  { lockToken, settled: true },
  { lockToken, settled: false, error: lockLost },
];
const numbers = json('SequenceNumbers', { sequenceNumbers: [1, 2] });
const outcomes = answer(
  'What became of each, in order.',
  json('Outcomes', {
    outcomes: [
      { sequenceNumber: 1, done: true },
      { sequenceNumber: 2, done: false },
    ],
  }),
);

const messageHeaders: OpenApiObject = {
  BrokerProperties: header('All that the service knows of the message.', JSON.stringify(locked)),
};
const lockHeaders: OpenApiObject = {
  ...messageHeaders,
  Location: header(
    'The address of the lock.',
    `http://localhost:5300/orders/messages/1/${lockToken}`,
  ),
};
export const nothingCame = answer('Nothing came in time.', undefined, {
  'Retry-After': header('0 where the wait was shorter than was asked for: ask again.', '0'),
});
const settledAndReceived = json('SettledAndReceived', {
  settlements: settled,
  messages: [{ ...message, BrokerProperties: locked }],
});

export const ANY: readonly RefusalStatus[] = [400, 401, 403, 410, 500, 501, 503, 504];
const NAMING_MESSAGES: readonly RefusalStatus[] = [...ANY, 404];

const settleOne = (description: string, headers?: OpenApiObject): OperationDetails => ({
  parameters: ['sessionId'],
  answers: { 200: answer(description, undefined, headers) },
  refusals: NAMING_MESSAGES,
});
const operate: OperationDetails = {
  parameters: ['sessionId'],
  body: requestBody(numbers),
  answers: { 200: outcomes },
  refusals: ANY,
};

/** By the names of the route table. */
export const MESSAGE_OPERATIONS = {
  send: {
    parameters: ['brokerProperties'],
    body: requestBody({ ...anyBody, ...batch }),
    answers: { 201: answer('Stored.') },
    refusals: ANY,
  },
  peekLock: {
    description: 'A body settles earlier messages first; the answer is then always 200.',
    parameters: ['timeout', 'maxMessages', 'sessionId', 'sessionLock'],
    body: requestBody(settlements, false),
    answers: {
      200: answer('What became of the settlements, and what was received.', settledAndReceived),
      201: answer('Locked.', { ...anyBody, ...received(locked) }, lockHeaders),
      204: nothingCame,
    },
    refusals: ANY,
  },
  receiveAndDelete: {
    description: 'A body settles earlier messages first.',
    parameters: ['timeout', 'maxMessages', 'sessionId', 'sessionLock'],
    body: requestBody(settlements, false),
    answers: {
      200: answer(
        'Received, and gone from the entity.',
        { ...anyBody, ...received(broker), ...settledAndReceived },
        messageHeaders,
      ),
      204: nothingCame,
    },
    refusals: ANY,
  },
  settle: {
    parameters: ['sessionId'],
    body: requestBody(settlements),
    answers: {
      200: answer(
        'What became of each, in order.',
        json('SettlementOutcomes', { settlements: settled }),
      ),
    },
    refusals: ANY,
  },
  renewLocks: {
    body: requestBody(json('Renewals', { lockTokens: [lockToken] })),
    answers: {
      200: answer(
        'What became of each, in order.',
        json('RenewalOutcomes', { renewals: [{ lockToken, lockedUntilUtc }] }),
      ),
    },
    refusals: ANY,
  },
  complete: settleOne('The message is gone.'),
  abandon: settleOne('The message can be received again.'),
  renewLock: settleOne('The lock runs anew.', {
    BrokerProperties: header('When it ends.', JSON.stringify({ LockedUntilUtc: lockedUntilUtc })),
  }),
  schedule: {
    body: requestBody(
      content(BATCH_CONTENT_TYPE, schemaNamed('ScheduledBatch'), [
        [
          {
            Body: 'later',
            BrokerProperties: { ScheduledEnqueueTimeUtc: '2033-11-06T08:49:37.25Z' },
          },
        ],
      ]),
    ),
    answers: {
      201: answer(
        'The number of each message, of a duplicate that of its original; null where it was sent on at once.',
        json('Scheduled', { sequenceNumbers: [5] }),
      ),
    },
    refusals: ANY,
  },
  cancelScheduled: {
    body: requestBody(numbers),
    answers: { 200: answer('All are removed.') },
    refusals: NAMING_MESSAGES,
  },
  peek: {
    parameters: ['fromSequenceNumber', 'peekMessages', 'sessionId'],
    answers: { 200: answer('The messages, in order.', received(broker)) },
    refusals: ANY,
  },
  receiveDeferred: {
    parameters: ['sessionId', 'sessionLock'],
    body: requestBody(
      json(
        'Deferred',
        { sequenceNumbers: [1], mode: 'peekLock' },
        { sequenceNumbers: [2], mode: 'receiveAndDelete' },
      ),
    ),
    answers: {
      200: answer('The messages, which are gone from the entity.', received(broker)),
      201: answer('The messages, locked.', received(locked)),
    },
    refusals: NAMING_MESSAGES,
  },
  breakLock: operate,
  reactivate: operate,
  deadLetter: {
    ...operate,
    body: requestBody(
      json('DeadLetters', {
        sequenceNumbers: [1, 2],
        deadLetterReason: 'Manual',
        deadLetterErrorDescription: 'Nobody knows the customer.',
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
      200: answer('What became of each number, or how many were deleted.', {
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
    description: 'For dead-letter queues.',
    body: requestBody(json('Resubmit', { maxMessages: 100 }), false),
    answers: { 200: answer('How many were sent again.', json('Resubmitted', { resubmitted: 7 })) },
    refusals: ANY,
  },
  purge: {
    body: requestBody(json('Purge', {}), false),
    answers: { 200: answer('It is empty.', json('Purge', {})) },
    refusals: [...ANY, 409],
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;

const health: OperationDetails = {
  answers: {
    200: answer(
      'It is well.',
      json('Health', { status: 'healthy', message: 'Service is healthy.' }),
    ),
  },
  refusals: [500],
};

/** By the names of the route table. */
export const SERVICE_OPERATIONS = {
  health,
  emulatorHealth: health,
  openApi: {
    answers: {
      200: answer(
        'OpenAPI 3.1.',
        content('application/json', { type: 'object' }, [{ openapi: '3.1.0' }]),
      ),
    },
    refusals: [500],
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
