import { LIMITS } from '../../../shared/domain/limits.ts';
import { type SCHEMAS, type Schema, schemaNamed } from './schemas.ts';

/** What operations of the contract have in common: their form, parameters and refusals. */

/** A part of an OpenAPI document. */
export type OpenApiObject = Readonly<Record<string, unknown>>;

/** What the contract says of one operation beyond its row of the route table. */
export interface OperationDetails {
  readonly description?: string;
  /** Of the query and of headers; those of the path come from the route. */
  readonly parameters?: readonly ParameterName[];
  readonly body?: OpenApiObject;
  /** By status. */
  readonly answers: Readonly<Record<number, OpenApiObject>>;
  readonly refusals: readonly RefusalStatus[];
}

/** A body of JSON. */
export function json(schema: keyof typeof SCHEMAS, ...values: readonly unknown[]): OpenApiObject {
  return content('application/json', schemaNamed(schema), values);
}

/** A body of one type. Examples are called `example`, `example2`, … */
export function content(type: string, schema: Schema, values: readonly unknown[]): OpenApiObject {
  const examples = Object.fromEntries(
    values.map((value, i) => [`example${i === 0 ? '' : i + 1}`, { value }]),
  );
  return { [type]: { schema, examples } };
}

/** The body that a request must or may have. */
export function requestBody(types: OpenApiObject, required = true): OpenApiObject {
  return { required, content: types };
}

/** An answer; without types it has no body. */
export function answer(
  description: string,
  types?: OpenApiObject,
  headers?: OpenApiObject,
): OpenApiObject {
  return {
    description,
    ...(types !== undefined && { content: types }),
    ...(headers !== undefined && { headers }),
  };
}

/** A header of an answer, with what one may look like. */
export function header(description: string, example: string): OpenApiObject {
  return { description, schema: { type: 'string' }, example };
}

/** A lock token as examples have it. */
export const EXAMPLE_LOCK_TOKEN = '00000000-0000-4000-8000-000000000001';

const whole = { type: 'integer', minimum: 0 } as const;
const path = (name: string, example: string, description: string): OpenApiObject => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});
const query = (
  name: string,
  schema: Schema,
  example: number | string,
  description: string,
): OpenApiObject => ({
  name,
  in: 'query',
  description,
  schema,
  example,
});

/** A session lock as examples have it. */
export const EXAMPLE_SESSION_LOCK = '00000000-0000-4000-8000-00000000005e';

const text = { type: 'string' } as const;

/** Every parameter of the contract. */
export const PARAMETERS = {
  entity: path(
    'entity',
    'orders',
    'A queue, a topic or `{topic}/Subscriptions/{name}`; for messages also a dead-letter queue of it: `orders/$deadletterqueue`. Slashes in it may stand as they are, or be `%2F`.',
  ),
  topic: path('topic', 'events', 'A topic. Slashes in it may stand as they are, or be `%2F`.'),
  subscription: path('subscription', 'billing', 'A subscription of the topic.'),
  rule: path('rule', 'large', 'A rule of the subscription; the first one is called `$Default`.'),
  message: path('message', '1', 'Sequence number or id of the message; only the lock counts.'),
  lockToken: path('lockToken', EXAMPLE_LOCK_TOKEN, 'The token of the lock, a GUID.'),
  timeout: query(
    'timeout',
    { ...whole, default: LIMITS.receiveTimeoutSeconds },
    0,
    'Seconds to wait for a first message. A deployed service waits two at most, and says so by Retry-After: 0.',
  ),
  maxMessages: query(
    'maxMessages',
    { type: 'integer', minimum: 1, maximum: LIMITS.receiveMessages },
    10,
    'Up to so many messages, and as many as the answer can carry, in the batch format. Without it: one, in headers and body.',
  ),
  fromSequenceNumber: query(
    'fromSequenceNumber',
    { ...whole, format: 'int64' },
    1,
    'The lowest number to show; from the front if it is missing.',
  ),
  peekMessages: query(
    'maxMessages',
    { type: 'integer', minimum: 1, default: LIMITS.peekMessages },
    10,
    `Up to so many messages, and never more than ${LIMITS.peekMessages}.`,
  ),
  sessionId: query(
    'sessionId',
    text,
    'customer-7',
    'The session, where the entity requires sessions. Any text, the empty one too.',
  ),
  sessionLock: query(
    'sessionLock',
    { ...text, format: 'uuid' },
    EXAMPLE_SESSION_LOCK,
    'The lock on the session, as accepting it returned it.',
  ),
  /** Where there is nothing to do without them. */
  heldSession: {
    ...query('sessionId', text, 'customer-7', 'The session. Any text, the empty one too.'),
    required: true,
  },
  heldSessionLock: {
    ...query(
      'sessionLock',
      { ...text, format: 'uuid' },
      EXAMPLE_SESSION_LOCK,
      'The lock on the session, as accepting it returned it.',
    ),
    required: true,
  },
  sessionsSkip: query('skip', { ...whole, default: 0 }, 0, 'How many sessions to leave out.'),
  sessionsTop: query(
    'top',
    { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    10,
    'How many sessions to show.',
  ),
  updatedAfter: query(
    'updatedAfter',
    text,
    '2033-11-06T08:49:37Z',
    'Show sessions whose state was set after this instant, instead of those with messages.',
  ),
  skip: query('$skip', { ...whole, default: 0 }, 0, 'How many of the list to leave out.'),
  top: query(
    '$top',
    { type: 'integer', minimum: 1, default: LIMITS.listPage },
    10,
    `How many to show, and never more than ${LIMITS.listPage}.`,
  ),
  brokerProperties: {
    name: 'BrokerProperties',
    in: 'header',
    description:
      'What the sender says of the message. Every other header that means nothing to HTTP is a custom property.',
    content: json('BrokerProperties', { MessageId: 'm-1', Label: 'created', TimeToLive: 3600 }),
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description: '`*`, or ETags: only what is there, and is one of these versions, is changed.',
    schema: { type: 'string' },
    example: '*',
  },
} as const satisfies Readonly<Record<string, OpenApiObject>>;
export type ParameterName = keyof typeof PARAMETERS;

/** What refusals mean, by status: one example each, of the several codes that share a status. */
const REFUSAL_EXAMPLES = {
  400: ['ArgumentError', "SubCode=40000. The timeout 'soon' is not a number of whole seconds."],
  401: ['Unauthenticated', "40102: MissingToken: The authorization header wasn't found."],
  403: ['QuotaExceeded', 'The maximum entity size has been reached.'],
  404: ['MessageLockLost', 'The lock supplied is invalid.'],
  409: ['ConflictInProgress', 'SubCode=40901. Another operation is in progress.'],
  410: ['MessagingEntityNotFound', "The messaging entity 'orders' could not be found."],
  412: ['PreconditionFailed', 'The resource was changed meanwhile.'],
  500: ['InternalError', 'SubCode=50000. The service was unable to process the request.'],
  501: ['NotSupported', 'The service does not do this yet.'],
  503: ['ServiceBusy', 'The service is busy; try again.'],
  504: ['ServiceTimeout', 'The service did not answer in time.'],
} as const;
export type RefusalStatus = keyof typeof REFUSAL_EXAMPLES;

const MEANINGS: Readonly<Record<RefusalStatus, string>> = {
  400: 'Something in the request cannot be read, is out of range, or is not possible here.',
  401: 'No token, a bad one, or one without the right.',
  403: 'Too large, for an answer too, or full, or the status of the entity forbids it.',
  404: 'The lock is over, or there is no such message; in management: no such entity or rule.',
  409: 'It exists already, or somebody else is changing the same entity.',
  410: 'There is no such entity.',
  412: 'If-Match does not fit.',
  500: 'A fault of the service; its log has the tracking id.',
  501: 'The service cannot do this.',
  503: 'Try again, not before Retry-After seconds.',
  504: 'No answer in time; whether it was done is unknown.',
};

const TRACKING_ID = '2ba2e9e7-4a05-45b5-b2d8-0f8d5f1b8f0f';
const TIMESTAMP = '2026-01-15T12:00:00';

/** The refusals of the contract, under the names by which `refusal` refers to them. */
export const REFUSALS: OpenApiObject = Object.fromEntries(
  Object.entries(REFUSAL_EXAMPLES).map(([status, [code, message]]) => [
    `Refused${status}`,
    refusalOf(Number(status) as RefusalStatus, code, message),
  ]),
);

/** The answer of a refusal, to stand in an operation. */
export function refusal(status: RefusalStatus): OpenApiObject {
  return { $ref: `#/components/responses/Refused${status}` };
}

function refusalOf(status: RefusalStatus, code: string, message: string): OpenApiObject {
  const retryable = status === 503 || status === 504 || code === 'ConflictInProgress';
  const detail = `${message} TrackingId:${TRACKING_ID}_G0, SystemTracker:dynabus:orders, Timestamp:${TIMESTAMP}`;
  const xml = `<Error><Code>${status}</Code><Detail>${detail}</Detail></Error>`;
  const error = { code, message, trackingId: TRACKING_ID, retryable, timestamp: TIMESTAMP };
  return answer(
    MEANINGS[status],
    { ...content('application/xml', { type: 'string' }, [xml]), ...json('Error', { error }) },
    {
      'x-dynabus-error': header('The code.', code),
      'x-dynabus-retryable': header('Whether the same request may yet succeed.', `${retryable}`),
    },
  );
}
