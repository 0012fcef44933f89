const LISTEN = { function: 'receive', rights: ['Listen'], kind: 'extension' } as const;

/**
 * The operations on sessions, which the vendor's REST API does not have (semantics H2), as rows of the route
 * table. This file imports nothing.
 */
export const SESSION_ROUTES = [
  {
    name: 'acceptSession',
    method: 'POST',
    path: '/{entity}/sessions/$accept',
    ...LISTEN,
    summary:
      'Locks a session for a limited time: the named one, or the next one that has messages.',
  },
  {
    name: 'renewSession',
    method: 'POST',
    path: '/{entity}/sessions/$renew',
    ...LISTEN,
    summary: 'Renews the lock of a session.',
  },
  {
    name: 'releaseSession',
    method: 'POST',
    path: '/{entity}/sessions/$release',
    ...LISTEN,
    summary: 'Releases the lock of a session before it expires.',
  },
  {
    name: 'getSessionState',
    method: 'GET',
    path: '/{entity}/sessions/$state',
    ...LISTEN,
    summary: 'Returns the state of a session.',
  },
  {
    name: 'setSessionState',
    method: 'PUT',
    path: '/{entity}/sessions/$state',
    ...LISTEN,
    summary: 'Sets the state of a session.',
  },
  {
    name: 'clearSessionState',
    method: 'DELETE',
    path: '/{entity}/sessions/$state',
    ...LISTEN,
    summary: 'Clears the state of a session.',
  },
  {
    name: 'listSessions',
    method: 'GET',
    path: '/{entity}/sessions/$list',
    ...LISTEN,
    summary:
      'Lists the sessions that have messages, or those whose state was set after an instant.',
  },
] as const;
