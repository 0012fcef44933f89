import { LIMITS } from '../../../shared/domain/limits.ts';
import type { Schema } from './schema-parts.ts';
import { type SCHEMAS, schemaNamed } from './schemas.ts';

/** A fragment of an OpenAPI document, such as a response or a parameter. */
export type Fragment = Readonly<Record<string, unknown>>;

/** The details of an operation that the route table does not have. */
export interface OperationDetails {
  readonly description?: string;
  /** The parameters in the query and in headers; the route has those of the path. */
  readonly parameters?: readonly ParameterName[];
  readonly body?: Fragment;
  /** The responses of successful requests, by status. */
  readonly answers: Readonly<Record<number, Fragment>>;
  /** The statuses of errors. */
  readonly refusals: readonly RefusalStatus[];
}

/** The content of a JSON body, with examples. */
export function json(schema: keyof typeof SCHEMAS, ...values: readonly unknown[]): Fragment {
  return content('application/json', schemaNamed(schema), values);
}

/** The content of a body of one media type. `values` = its examples, named `example`, `example2`, … */
export function content(type: string, schema: Schema, values: readonly unknown[]): Fragment {
  const examples = Object.fromEntries(
    values.map((value, i) => [`example${i === 0 ? '' : i + 1}`, { value }]),
  );
  return { [type]: { schema, examples } };
}

/** A request body. `types` = its content by media type. */
export function requestBody(types: Fragment, required = true): Fragment {
  return { required, content: types };
}

/** A response. `types` = its content by media type; without them it has no body. */
export function answer(description: string, types?: Fragment, headers?: Fragment): Fragment {
  return {
    description,
    ...(types !== undefined && { content: types }),
    ...(headers !== undefined && { headers }),
  };
}

/** A response header with an example. */
export function header(description: string, example: string): Fragment {
  return { description, schema: { type: 'string' }, example };
}

/** The lock token of all examples. */
export const EXAMPLE_LOCK_TOKEN = '00000000-0000-4000-8000-000000000001';

const whole = { type: 'integer', minimum: 0 } as const;
const text = { type: 'string' } as const;
const path = (name: string, example: string, description: string): Fragment => {
  return { name, in: 'path', required: true, description, schema: text, example };
};
const query = (
  name: string,
  schema: Schema,
  example: number | string,
  description: string,
): Fragment => ({ name, in: 'query', description, schema, example });

/** A header with a token for a destination of forwarding. */
function supplementary(name: string, setting: string): Fragment {
  const description = `A token with Manage on the destination of ${setting}, if that of the request is none.`;
  return { name, in: 'header', description, schema: text, example: 'SharedAccessSignature sr=…' };
}

/** The session lock of all examples. */
export const EXAMPLE_SESSION_LOCK = '00000000-0000-4000-8000-00000000005e';

const sessionLock = query(
  'sessionLock',
  { ...text, format: 'uuid' },
  EXAMPLE_SESSION_LOCK,
  'The lock on the session, as accepting it returned it.',
);

/** Every parameter of the contract. */
export const PARAMETERS = {
  entity: path(
    'entity',
    'orders',
    'A queue, a topic or `{topic}/Subscriptions/{name}`; in operations on messages and consumers also its dead-letter queue: `orders/$deadletterqueue`. Slashes may be percent-encoded as `%2F`.',
  ),
  topic: path('topic', 'events', 'A topic. Slashes may be percent-encoded as `%2F`.'),
  subscription: path('subscription', 'billing', 'A subscription of the topic.'),
  rule: path(
    'rule',
    'large',
    'A rule of the subscription. A new subscription has the rule `$Default`.',
  ),
  consumer: path('consumer', 'worker', 'A consumer of the queue or dead-letter queue.'),
  message: path(
    'message',
    '1',
    'The sequence number or the id of the message. It is not checked: the lock token identifies the message.',
  ),
  lockToken: path('lockToken', EXAMPLE_LOCK_TOKEN, 'The token of the lock, a GUID.'),
  timeout: query(
    'timeout',
    { ...whole, default: LIMITS.receiveTimeoutSeconds },
    0,
    'The seconds to wait for the first message. A deployed service waits for ten seconds at most, unless it is set otherwise; if it shortens the wait, the response has Retry-After.',
  ),
  maxMessages: query(
    'maxMessages',
    { type: 'integer', minimum: 1, maximum: LIMITS.receiveMessages },
    10,
    'The most messages to return, in the batch format; fewer if they do not fit into the response. Without it: one message, in headers and body.',
  ),
  fromSequenceNumber: query(
    'fromSequenceNumber',
    { ...whole, format: 'int64' },
    1,
    'The lowest sequence number to return; by default from the first message.',
  ),
  peekMessages: query(
    'maxMessages',
    { type: 'integer', minimum: 1, default: LIMITS.peekMessages },
    10,
    `The most messages to return, limited to ${LIMITS.peekMessages}.`,
  ),
  sessionId: query(
    'sessionId',
    text,
    'customer-7',
    'The session id, if the entity requires sessions. Any text, including the empty one.',
  ),
  peekSession: query(
    'sessionId',
    text,
    'customer-7',
    'Shows this session only. Without it, an entity with sessions shows the messages of all of them.',
  ),
  sessionLock,
  /** These two for operations that require a session. */
  heldSession: {
    ...query('sessionId', text, 'customer-7', 'The session id. Any text, including the empty one.'),
    required: true,
  },
  heldSessionLock: { ...sessionLock, required: true },
  sessionsSkip: query('skip', { ...whole, default: 0 }, 0, 'The number of sessions to skip.'),
  sessionsTop: query(
    'top',
    { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    10,
    'The most sessions to return.',
  ),
  updatedAfter: query(
    'updatedAfter',
    text,
    '2033-11-06T08:49:37Z',
    'Return the sessions whose state was set after this instant, instead of those with messages.',
  ),
  skip: query('$skip', { ...whole, default: 0 }, 0, 'The number of entries to skip.'),
  after: query(
    'after',
    text,
    'events/Subscriptions/billing',
    'The path of the entity after which to begin, whether it still exists or not.',
  ),
  top: query(
    '$top',
    { type: 'integer', minimum: 1, default: LIMITS.listPage },
    10,
    `The most entries to return, limited to ${LIMITS.listPage}.`,
  ),
  everythingTop: query(
    '$top',
    { type: 'integer', minimum: 1, default: LIMITS.listPage },
    10,
    `The most entities to return, limited to ${LIMITS.everythingPage}; a page may have fewer.`,
  ),
  brokerProperties: {
    name: 'BrokerProperties',
    in: 'header',
    description:
      'The system properties of the message. Every other header that is not a standard HTTP header is a custom property.',
    content: json('BrokerProperties', { MessageId: 'm-1', Label: 'created', TimeToLive: 3600 }),
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A text of your choice: repeated requests with the same key, within a day, store the messages only once.',
    schema: { ...text, minLength: 1, maxLength: LIMITS.idLength },
    example: 'order-7',
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      '`*` or ETags. The operation only changes an existing entity, rule or consumer, with ETags only if it has one of these versions.',
    schema: { type: 'string' },
    example: '*',
  },
  supplementaryAuthorization: supplementary('ServiceBusSupplementaryAuthorization', 'forwardTo'),
  dlqSupplementaryAuthorization: supplementary(
    'ServiceBusDlqSupplementaryAuthorization',
    'forwardDeadLetteredMessagesTo',
  ),
  apiVersion: query(
    'api-version',
    text,
    '2021-05',
    'Any version, or none. From 2024-05 on, a GET tells how many filters the rules of a topic have. Up to 2016-07, the answer to a PUT in ATOM repeats the SizeInBytes that it was sent.',
  ),
} as const satisfies Readonly<Record<string, Fragment>>;
/** The name of a parameter in `PARAMETERS`. */
export type ParameterName = keyof typeof PARAMETERS;

/** One example of an error per status; several codes share a status. */
const REFUSAL_EXAMPLES = {
  400: ['ArgumentError', "SubCode=40000. The timeout 'soon' is not a number of whole seconds."],
  401: ['Unauthenticated', "40102: MissingToken: The authorization header wasn't found."],
  403: ['QuotaExceeded', 'The maximum entity size has been reached.'],
  404: ['MessageLockLost', 'The lock supplied is invalid.'],
  409: ['ConflictInProgress', 'SubCode=40901. Another operation is in progress.'],
  410: ['MessagingEntityNotFound', "The messaging entity 'orders' could not be found."],
  412: ['PreconditionFailed', 'The resource has been changed since it was read.'],
  500: ['InternalError', 'SubCode=50000. The service was unable to process the request.'],
  503: ['ServiceBusy', 'The service is busy; try again.'],
  504: ['ServiceTimeout', 'The service did not answer in time.'],
} as const;
/** A status of the document's errors. */
export type RefusalStatus = keyof typeof REFUSAL_EXAMPLES;

/** The codes of each status with their meanings, as docs/http/errors.md lists them. */
const MEANINGS: Readonly<Record<RefusalStatus, string>> = {
  400: 'ArgumentError: the request cannot be parsed, or a value is out of range. InvalidOperation: the request is valid, but this entity or message does not support it.',
  401: 'Unauthenticated: the token is missing, invalid, or lacks the right.',
  403: 'Forbidden: the path has a spelling that IAM may have read differently, or the request names another entity, which IAM did not evaluate. MessageSizeExceeded: a message, batch or request is too large, or the messages do not fit into one answer. QuotaExceeded: the entity or the namespace is full. MessagingEntityDisabled: the status of the entity forbids the operation.',
  404: 'MessageLockLost: the lock has ended: it expired, was settled or broken, or the entity was changed. MessageNotFound: no such message exists in the state that the call needs. NoMatchingSubscription: no subscription matches any of the messages, and the topic has `FilteringMessagesBeforePublishing`, or they are resubmitted to it, also by a forward. In management, MessagingEntityNotFound: the entity or rule does not exist.',
  409: 'MessagingEntityAlreadyExists: an entity or rule of that name exists. ConflictInProgress: another call is changing the same entity; retry. SessionCannotBeLocked: another receiver holds the session. TransactionAborted: the transaction conflicted with another operation and was rolled back; retry.',
  410: 'MessagingEntityNotFound: the entity does not exist; management calls answer 404 instead. SessionLockLost: the lock of the session has ended.',
  412: 'PreconditionFailed: `If-Match` does not match.',
  500: 'InternalError: a fault of the service; its log has the tracking id.',
  503: 'ServiceBusy: retry after the number of seconds in `Retry-After`, or later.',
  504: 'ServiceTimeout: the database did not answer in time; the operation may or may not have taken effect.',
};

const TRACKING_ID = '2ba2e9e7-4a05-45b5-b2d8-0f8d5f1b8f0f';
const TIMESTAMP = '2026-01-15T12:00:00';

/** The error responses of the document, under the names to which `refusal` refers. */
export const REFUSALS: Fragment = Object.fromEntries(
  Object.entries(REFUSAL_EXAMPLES).map(([status, [code, message]]) => [
    `Refused${status}`,
    refusalOf(Number(status) as RefusalStatus, code, message),
  ]),
);

/** A reference to the error response of a status, for use in an operation. */
export function refusal(status: RefusalStatus): Fragment {
  return { $ref: `#/components/responses/Refused${status}` };
}

function refusalOf(status: RefusalStatus, code: string, message: string): Fragment {
  const retryable = status === 503 || status === 504 || code === 'ConflictInProgress';
  const detail = `${message} TrackingId:${TRACKING_ID}_G0, SystemTracker:dynabus:orders, Timestamp:${TIMESTAMP}`;
  const xml = `<Error><Code>${status}</Code><Detail>${detail}</Detail></Error>`;
  const error = { code, message, trackingId: TRACKING_ID, retryable, timestamp: TIMESTAMP };
  return answer(
    MEANINGS[status],
    { ...content('application/xml', { type: 'string' }, [xml]), ...json('Error', { error }) },
    {
      'x-dynabus-error': header('The error code.', code),
      'x-dynabus-retryable': header('Whether the same request may succeed later.', `${retryable}`),
    },
  );
}
