import { BATCH_CONTENT_TYPE } from '../format/batch-format.ts';
import {
  answer,
  content,
  EXAMPLE_LOCK_TOKEN,
  type Fragment,
  header,
  json,
  type OperationDetails,
  type RefusalStatus,
  requestBody,
} from './components.ts';
import { EXACT_LOCKED, EXACT_SCHEDULED, EXACT_SENT, EXACT_UNLOCKED } from './exact.ts';
import { schemaNamed } from './schemas.ts';

const lockToken = EXAMPLE_LOCK_TOKEN;
const lockedUntilUtc = 'Thu, 15 Jan 2026 12:01:00 GMT';
const unlocked = {
  DeliveryCount: 1,
  EnqueuedSequenceNumber: 0,
  EnqueuedTimeUtc: 'Thu, 15 Jan 2026 12:00:00 GMT',
  MessageId: 'm-1',
  SequenceNumber: 1,
  State: 'Active',
  TimeToLive: 3600,
};
const locked = { ...unlocked, LockToken: lockToken, LockedUntilUtc: lockedUntilUtc };
const body = '{"order":1}';
const message = { Body: body, UserProperties: { Priority: 'High', Quantity: 7 } };
const lockLost = {
  code: 'MessageLockLost',
  message: 'The lock supplied is invalid.',
  trackingId: '2ba2e9e7-4a05-45b5-b2d8-0f8d5f1b8f0f',
  retryable: false,
};

/** One message; its sender chose the content type. */
const anyBody = content('*/*', {}, [body]);
const batch = content(BATCH_CONTENT_TYPE, schemaNamed('Batch'), [
  [
    { Body: 'first', BrokerProperties: { MessageId: 'm-1' } },
    { Body: 'second', UserProperties: { Priority: 'Low', Order: { $long: '7' } } },
    { Body: '/wA=', BodyEncoding: 'base64' },
  ],
]);
const received = (BrokerProperties: object): Fragment =>
  content(BATCH_CONTENT_TYPE, schemaNamed('ReceivedBatch'), [[{ ...message, BrokerProperties }]]);
const scheduled = content(BATCH_CONTENT_TYPE, schemaNamed('ScheduledBatch'), [
  [{ Body: 'later', BrokerProperties: { ScheduledEnqueueTimeUtc: '2033-11-06T08:49:37.25Z' } }],
]);
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
/** The body that names messages. */
export const numbers = json('SequenceNumbers', { sequenceNumbers: [1, 2] });
const messageHeaders: Fragment = {
  BrokerProperties: header('The system properties of the message.', JSON.stringify(locked)),
};
const lockHeaders: Fragment = {
  ...messageHeaders,
  Location: header(
    'The URL of the lock, for completing, abandoning and renewing it.',
    `http://localhost:5300/orders/messages/1/${lockToken}`,
  ),
};
/** The response of a receive or an acceptance of a session that found nothing. */
export const noMessage = answer('No message was available in time.', undefined, {
  'Retry-After': header(
    'Seconds, if the service shortened the requested wait: repeat the request then to go on waiting.',
    '1',
  ),
});
const settledAndReceived = json('SettledAndReceived', {
  settlements: settled,
  messages: [{ ...message, BrokerProperties: locked }],
});

/** The error statuses of every operation on messages and sessions. */
export const ANY: readonly RefusalStatus[] = [400, 401, 403, 410, 500, 503, 504];
/** The error statuses of operations that name messages. */
export const NAMING_MESSAGES: readonly RefusalStatus[] = [...ANY, 404];

const settleOne = (description: string, headers?: Fragment): OperationDetails => ({
  parameters: ['sessionId'],
  answers: { 200: answer(description, undefined, headers) },
  refusals: NAMING_MESSAGES,
});
/** The details of the operations on messages, by route name. */
export const MESSAGE_OPERATIONS = {
  send: {
    parameters: ['brokerProperties', 'idempotencyKey'],
    body: requestBody({ ...anyBody, ...EXACT_SENT, ...batch }),
    answers: { 201: answer('The messages are stored.') },
    refusals: [...ANY, 404, 409],
  },
  peekLock: {
    description:
      'A request body settles earlier messages first; the status is then 200 even if the receive fails.',
    parameters: ['timeout', 'maxMessages', 'sessionId', 'sessionLock'],
    body: requestBody(settlements, false),
    answers: {
      200: answer('The outcomes of the settlements, and the received messages.', {
        ...settledAndReceived,
        ...EXACT_LOCKED,
      }),
      201: answer(
        'The locked message, or messages.',
        { ...anyBody, ...received(locked), ...EXACT_LOCKED },
        lockHeaders,
      ),
      204: noMessage,
    },
    refusals: ANY,
  },
  receiveAndDelete: {
    description: 'A request body settles earlier messages first.',
    parameters: ['timeout', 'maxMessages', 'sessionId', 'sessionLock'],
    body: requestBody(settlements, false),
    answers: {
      200: answer(
        'The received message, or messages, which are removed from the entity.',
        { ...anyBody, ...received(unlocked), ...settledAndReceived, ...EXACT_UNLOCKED },
        messageHeaders,
      ),
      204: noMessage,
    },
    refusals: ANY,
  },
  settle: {
    parameters: ['sessionId'],
    body: requestBody(settlements),
    answers: {
      200: answer(
        'The outcome of each settlement, in order.',
        json('SettlementOutcomes', { settlements: settled }),
      ),
    },
    refusals: ANY,
  },
  renewLocks: {
    body: requestBody(json('Renewals', { lockTokens: [lockToken] })),
    answers: {
      200: answer(
        'The outcome of each renewal, in order.',
        json('RenewalOutcomes', {
          renewals: [{ lockToken, lockedUntilUtc, lockedUntil: '2026-01-15T12:01:00.250Z' }],
        }),
      ),
    },
    refusals: ANY,
  },
  complete: settleOne('The message is removed.'),
  abandon: settleOne('The message can be received again.'),
  renewLock: settleOne('The lock is renewed.', {
    BrokerProperties: header(
      'The new end of the lock.',
      JSON.stringify({ LockedUntilUtc: lockedUntilUtc }),
    ),
  }),
  schedule: {
    parameters: ['idempotencyKey'],
    body: requestBody({ ...EXACT_SCHEDULED, ...scheduled }),
    answers: {
      201: answer(
        'The sequence number of each message. For a duplicate it is that of the original message; null if the message was forwarded at once.',
        json('Scheduled', { sequenceNumbers: [5] }),
      ),
    },
    refusals: [...ANY, 409],
  },
  cancelScheduled: {
    body: requestBody(numbers),
    answers: { 200: answer('All of the messages are cancelled.') },
    refusals: NAMING_MESSAGES,
  },
  peek: {
    parameters: ['fromSequenceNumber', 'peekMessages', 'peekSession'],
    answers: {
      200: answer('The messages, in order.', { ...received(unlocked), ...EXACT_UNLOCKED }),
    },
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
      200: answer('The received messages, which are removed from the entity.', {
        ...received(unlocked),
        ...EXACT_UNLOCKED,
      }),
      201: answer('The locked messages.', { ...received(locked), ...EXACT_LOCKED }),
    },
    refusals: NAMING_MESSAGES,
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;

const health: OperationDetails = {
  answers: {
    200: answer(
      'The service is running.',
      json('Health', { status: 'healthy', message: 'Service is healthy.' }),
    ),
  },
  refusals: [500],
};

/** The details of the operations of the service itself, by route name. */
export const SERVICE_OPERATIONS = {
  health,
  emulatorHealth: health,
  openApi: {
    answers: {
      200: answer(
        'The OpenAPI 3.1 document.',
        content('application/json', { type: 'object' }, [{ openapi: '3.1.0' }]),
      ),
    },
    refusals: [500],
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
