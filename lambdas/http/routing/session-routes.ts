/**
 * The operations on sessions, which the vendor's REST API does not have (semantics H2), as rows of the one
 * route table. It imports nothing.
 */
export const SESSION_ROUTES = [
  {
    name: 'acceptSession',
    method: 'POST',
    path: '/{entity}/sessions/$accept',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Locks a session, the named one or the next that has messages, for a while.',
  },
  {
    name: 'renewSession',
    method: 'POST',
    path: '/{entity}/sessions/$renew',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Starts the lock of a session anew.',
  },
  {
    name: 'releaseSession',
    method: 'POST',
    path: '/{entity}/sessions/$release',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Gives a session back before its lock ends.',
  },
  {
    name: 'getSessionState',
    method: 'GET',
    path: '/{entity}/sessions/$state',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Returns the state of a session, as it was set.',
  },
  {
    name: 'setSessionState',
    method: 'PUT',
    path: '/{entity}/sessions/$state',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Sets the state of a session.',
  },
  {
    name: 'clearSessionState',
    method: 'DELETE',
    path: '/{entity}/sessions/$state',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Clears the state of a session.',
  },
  {
    name: 'listSessions',
    method: 'GET',
    path: '/{entity}/sessions/$list',
    function: 'receive',
    rights: ['Listen'],
    kind: 'extension',
    summary: 'Lists sessions that have messages, or whose state was set since an instant.',
  },
] as const;
