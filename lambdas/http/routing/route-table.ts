import { MANAGEMENT_ROUTES } from './management-routes.ts';
import { SESSION_ROUTES } from './session-routes.ts';

/**
 * Every operation the service offers over HTTP, as data: the apps, the deployment and the contract
 * all read this one table. It imports nothing but data.
 */
export interface Route {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `{entity}` and `{topic}` may hold slashes, `{entity}` also a dead-letter suffix; others are one segment. */
  readonly path: string;
  /** The function that serves it when deployed. */
  readonly function: 'send' | 'receive' | 'settle' | 'manage';
  /** A token must carry one of these; none = no token at all. */
  readonly rights: readonly ('Send' | 'Listen' | 'Manage')[];
  /** `runtime` is the vendor's REST API; an `extension` is ours, and speaks JSON. */
  readonly kind: 'runtime' | 'extension' | 'management';
  readonly summary: string;
}

/** In order of precedence: where two paths fit one request, the first serves it. */
export const ROUTES = [
  // Messages: semantics H1.
  {
    name: 'send',
    method: 'POST',
    path: '/{entity}/messages',
    function: 'send',
    rights: ['Send'],
    kind: 'runtime',
    summary: 'Sends one message, or a JSON batch of messages, all or none.',
  },
  {
    name: 'peekLock',
    method: 'POST',
    path: '/{entity}/messages/head',
    function: 'receive',
    rights: ['Listen'],
    kind: 'runtime',
    summary: 'Locks and returns the next message, or up to maxMessages; may settle earlier ones.',
  },
  {
    name: 'receiveAndDelete',
    method: 'DELETE',
    path: '/{entity}/messages/head',
    function: 'receive',
    rights: ['Listen'],
    kind: 'runtime',
    summary: 'Removes and returns the next message, or up to maxMessages; may settle earlier ones.',
  },
  {
    name: 'settle',
    method: 'POST',
    path: '/{entity}/messages/$settle',
    function: 'settle',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Settles many locked messages, each with its own outcome.',
  },
  {
    name: 'renewLocks',
    method: 'POST',
    path: '/{entity}/messages/$renew',
    function: 'settle',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Renews the locks of many messages, each with its own outcome.',
  },
  {
    name: 'complete',
    method: 'DELETE',
    path: '/{entity}/messages/{message}/{lockToken}',
    function: 'settle',
    rights: ['Listen'],
    kind: 'runtime',
    summary: 'Completes a locked message: it is done and gone.',
  },
  {
    name: 'abandon',
    method: 'PUT',
    path: '/{entity}/messages/{message}/{lockToken}',
    function: 'settle',
    rights: ['Listen'],
    kind: 'runtime',
    summary: 'Unlocks a message, so that it can be received again.',
  },
  {
    name: 'renewLock',
    method: 'POST',
    path: '/{entity}/messages/{message}/{lockToken}',
    function: 'settle',
    rights: ['Listen'],
    kind: 'runtime',
    summary: 'Starts the lock of a message anew.',
  },

  // Messages: what the vendor's REST API has no address for (semantics H2).
  {
    name: 'schedule',
    method: 'POST',
    path: '/{entity}/messages/$schedule',
    function: 'send',
    rights: ['Send'],
    kind: 'extension',
    summary: 'Sends a batch for later, and answers with the sequence numbers to cancel it by.',
  },
  {
    name: 'cancelScheduled',
    method: 'POST',
    path: '/{entity}/messages/$cancelScheduled',
    function: 'send',
    rights: ['Send'],
    kind: 'extension',
    summary: 'Removes scheduled messages before they come due, all or none.',
  },
  {
    name: 'peek',
    method: 'GET',
    path: '/{entity}/messages',
    function: 'manage',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Shows messages in order, from a sequence number on, without touching them.',
  },
  {
    name: 'receiveDeferred',
    method: 'POST',
    path: '/{entity}/messages/$deferred',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Locks or removes deferred messages by number, all or none, and returns them.',
  },
  {
    name: 'breakLock',
    method: 'POST',
    path: '/{entity}/messages/$breakLock',
    function: 'settle',
    rights: ['Manage'],
    kind: 'extension',
    summary: 'Ends the locks of messages, whoever holds them.',
  },
  {
    name: 'reactivate',
    method: 'POST',
    path: '/{entity}/messages/$reactivate',
    function: 'settle',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Makes deferred messages active again.',
  },
  {
    name: 'deadLetter',
    method: 'POST',
    path: '/{entity}/messages/$deadLetter',
    function: 'settle',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Moves messages that nobody holds to the dead-letter queue.',
  },
  {
    name: 'delete',
    method: 'POST',
    path: '/{entity}/messages/$delete',
    function: 'settle',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Deletes messages that nobody holds: by number, or those enqueued before an instant.',
  },
  {
    name: 'resubmit',
    method: 'POST',
    path: '/{entity}/messages/$resubmit',
    function: 'settle',
    rights: ['Manage'],
    kind: 'extension',
    summary: 'Sends messages of a dead-letter queue to its main queue again.',
  },
  {
    name: 'purge',
    method: 'POST',
    path: '/{entity}/messages/$purge',
    function: 'settle',
    rights: ['Manage'],
    kind: 'extension',
    summary: 'Empties a queue, or its dead-letter queue, at once.',
  },

  // Sessions: `sessionId` and `sessionLock` stand in the query, here and on the paths above.
  ...SESSION_ROUTES,

  // Several operations at once.
  {
    name: 'transact',
    method: 'POST',
    path: '/$transactions',
    function: 'manage',
    rights: ['Send', 'Listen'],
    kind: 'extension',
    summary: 'Sends to any entities and settles messages of one, all or nothing.',
  },

  // The service itself.
  {
    name: 'health',
    method: 'GET',
    path: '/$health',
    function: 'manage',
    rights: [],
    kind: 'extension',
    summary: 'Says whether the service answers.',
  },
  {
    name: 'emulatorHealth',
    method: 'GET',
    path: '/health',
    function: 'manage',
    rights: [],
    kind: 'extension',
    summary: "The same under the address of the vendor's emulator.",
  },
  {
    name: 'openApi',
    method: 'GET',
    path: '/$openapi.json',
    function: 'manage',
    rights: [],
    kind: 'extension',
    summary: 'This contract.',
  },

  // Management comes last: its `/{entity}` fits every path.
  ...MANAGEMENT_ROUTES,
] as const satisfies readonly Route[];

/** The name of one operation. */
export type RouteName = (typeof ROUTES)[number]['name'];
