import { MANAGEMENT_ROUTES } from './management-routes.ts';
import { SESSION_ROUTES } from './session-routes.ts';

/**
 * One HTTP operation of the service. The apps, the deployment and the OpenAPI document all read the table of
 * these rows, so this file imports nothing but data.
 */
export interface Route {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * `{entity}` and `{topic}` match one or more segments, `{entity}` also with the suffix of a dead-letter queue. Every
   * other variable matches one segment.
   */
  readonly path: string;
  /** The Lambda function that it belongs to. API Gateway may send its path to `manage`, which serves all. */
  readonly function: 'send' | 'receive' | 'settle' | 'manage';
  /** The token must grant one of these (semantics #150, K7); empty = no token is required. */
  readonly rights: readonly ('Send' | 'Listen' | 'Manage')[];
  /** `runtime`: the vendor's REST API; `extension`: our own, in JSON; `management`: the vendor's ATOM API. */
  readonly kind: 'runtime' | 'extension' | 'management';
  readonly summary: string;
}

/** The function and the right of most operations. */
const SEND = { function: 'send', rights: ['Send'] } as const;
const RECEIVE = { function: 'receive', rights: ['Listen'] } as const;
const SETTLE = { function: 'settle', rights: ['Listen'] } as const;
/** The operations on the service itself, which need no token (semantics H21). */
const PUBLIC = { function: 'manage', rights: [], kind: 'extension' } as const;

/** All operations, in order of precedence: where two paths match a request, the first one serves it. */
export const ROUTES = [
  // Messages: semantics H1.
  {
    name: 'send',
    method: 'POST',
    path: '/{entity}/messages',
    ...SEND,
    kind: 'runtime',
    summary: 'Sends one message, or a JSON batch of messages, all or nothing.',
  },
  {
    name: 'peekLock',
    method: 'POST',
    path: '/{entity}/messages/head',
    ...RECEIVE,
    kind: 'runtime',
    summary: 'Locks and returns the next message, or up to maxMessages; may settle earlier ones.',
  },
  {
    name: 'receiveAndDelete',
    method: 'DELETE',
    path: '/{entity}/messages/head',
    ...RECEIVE,
    kind: 'runtime',
    summary: 'Removes and returns the next message, or up to maxMessages; may settle earlier ones.',
  },
  {
    name: 'settle',
    method: 'POST',
    path: '/{entity}/messages/$settle',
    ...SETTLE,
    kind: 'extension',
    summary: 'Settles many locked messages, each with its own outcome.',
  },
  {
    name: 'renewLocks',
    method: 'POST',
    path: '/{entity}/messages/$renew',
    ...SETTLE,
    kind: 'extension',
    summary: 'Renews the locks of many messages, each with its own outcome.',
  },
  {
    name: 'complete',
    method: 'DELETE',
    path: '/{entity}/messages/{message}/{lockToken}',
    ...SETTLE,
    kind: 'runtime',
    summary: 'Completes a locked message: removes it from the entity.',
  },
  {
    name: 'abandon',
    method: 'PUT',
    path: '/{entity}/messages/{message}/{lockToken}',
    ...SETTLE,
    kind: 'runtime',
    summary: 'Abandons a locked message: unlocks it, so that it can be received again.',
  },
  {
    name: 'renewLock',
    method: 'POST',
    path: '/{entity}/messages/{message}/{lockToken}',
    ...SETTLE,
    kind: 'runtime',
    summary: 'Renews the lock of a message.',
  },

  // Messages: operations that the vendor's REST API does not have (semantics H2).
  {
    name: 'schedule',
    method: 'POST',
    path: '/{entity}/messages/$schedule',
    ...SEND,
    kind: 'extension',
    summary:
      'Schedules a batch of messages, and returns the sequence numbers by which they can be cancelled.',
  },
  {
    name: 'cancelScheduled',
    method: 'POST',
    path: '/{entity}/messages/$cancelScheduled',
    ...SEND,
    kind: 'extension',
    summary: 'Cancels scheduled messages before they are due, all or nothing.',
  },
  {
    name: 'peek',
    method: 'GET',
    path: '/{entity}/messages',
    function: 'manage',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Peeks: returns messages in order, from a sequence number on, without locking them.',
  },
  {
    name: 'receiveDeferred',
    method: 'POST',
    path: '/{entity}/messages/$deferred',
    ...RECEIVE,
    kind: 'extension',
    summary: 'Receives deferred messages by sequence number, all or nothing.',
  },
  {
    name: 'breakLock',
    method: 'POST',
    path: '/{entity}/messages/$breakLock',
    function: 'settle',
    rights: ['Manage'],
    kind: 'extension',
    summary: 'Ends the locks of messages, whichever receiver holds them.',
  },
  {
    name: 'reactivate',
    method: 'POST',
    path: '/{entity}/messages/$reactivate',
    ...SETTLE,
    kind: 'extension',
    summary: 'Makes deferred messages active again.',
  },
  {
    name: 'deadLetter',
    method: 'POST',
    path: '/{entity}/messages/$deadLetter',
    ...SETTLE,
    kind: 'extension',
    summary: 'Moves messages that are not locked to the dead-letter queue.',
  },
  {
    name: 'delete',
    method: 'POST',
    path: '/{entity}/messages/$delete',
    ...SETTLE,
    kind: 'extension',
    summary:
      'Deletes messages that are not locked: by sequence number, or those enqueued before an instant.',
  },
  {
    name: 'resubmit',
    method: 'POST',
    path: '/{entity}/messages/$resubmit',
    function: 'settle',
    rights: ['Manage'],
    kind: 'extension',
    summary: 'Sends messages of a dead-letter queue to its main queue again, or to another entity.',
  },
  {
    name: 'purge',
    method: 'POST',
    path: '/{entity}/messages/$purge',
    function: 'settle',
    rights: ['Manage'],
    kind: 'extension',
    summary: 'Deletes all messages of a queue or a dead-letter queue at once.',
  },

  // What clients of other protocols must know of an entity (semantics H23).
  {
    name: 'senderFacts',
    method: 'GET',
    path: '/{entity}/messages/$sender',
    ...SEND,
    kind: 'extension',
    summary: 'Returns what a sender must know of a queue or topic before it sends.',
  },
  {
    name: 'receiverFacts',
    method: 'GET',
    path: '/{entity}/messages/$receiver',
    ...RECEIVE,
    kind: 'extension',
    summary: 'Returns what a receiver must know of a queue, subscription or dead-letter queue.',
  },

  // Sessions: the query has `sessionId` and `sessionLock`, here and on the paths above.
  ...SESSION_ROUTES,

  // Transactions.
  {
    name: 'transact',
    method: 'POST',
    path: '/$transactions',
    function: 'manage',
    rights: ['Send', 'Listen'],
    kind: 'extension',
    summary: 'Sends messages to any entities and settles messages of one entity, all or nothing.',
  },

  // All entities at once.
  {
    name: 'listEverything',
    method: 'GET',
    path: '/$entities',
    function: 'manage',
    rights: ['Manage'],
    kind: 'extension',
    summary:
      'Returns all queues and topics with their subscriptions and rules, page by page, in JSON.',
  },

  // The service itself.
  {
    name: 'health',
    method: 'GET',
    path: '/$health',
    ...PUBLIC,
    summary: 'Reports that the service is running.',
  },
  {
    name: 'emulatorHealth',
    method: 'GET',
    path: '/health',
    ...PUBLIC,
    summary: "Reports that the service is running, at the address of the vendor's emulator.",
  },
  {
    name: 'openApi',
    method: 'GET',
    path: '/$openapi.json',
    ...PUBLIC,
    summary: 'Returns this document.',
  },

  // Management comes last: its `/{entity}` matches every path.
  ...MANAGEMENT_ROUTES,
] as const satisfies readonly Route[];

/** The name of an operation in the table. */
export type RouteName = (typeof ROUTES)[number]['name'];
