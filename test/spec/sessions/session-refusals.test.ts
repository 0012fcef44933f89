import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drain, startSessions } from './session-scene.ts';

/** What a bad request about sessions meets; `<lock>` is the live lock of session a. */
const NOBODYS = '01234567-89ab-cdef-0123-456789abcdef';

const ROWS: readonly (readonly [
  what: string,
  method: string,
  path: string,
  status: number,
  code: string,
  sentence: RegExp,
])[] = [
  [
    'a receive that names no lock',
    'POST',
    'q/messages/head?timeout=0&sessionId=a',
    400,
    'ArgumentError',
    /sessionLock is required/,
  ],
  [
    'a renewal that names no session',
    'POST',
    'q/sessions/$renew?sessionLock=<lock>',
    400,
    'ArgumentError',
    /sessionId is required/,
  ],
  [
    'a release that names nothing',
    'POST',
    'q/sessions/$release',
    400,
    'ArgumentError',
    /sessionId is required/,
  ],
  [
    'a lock that is no GUID',
    'POST',
    'q/sessions/$renew?sessionId=a&sessionLock=abc',
    400,
    'ArgumentError',
    /sessionLock 'abc' is not a GUID/,
  ],
  [
    'an empty lock',
    'GET',
    'q/sessions/$state?sessionId=a&sessionLock=',
    400,
    'ArgumentError',
    /is not a GUID/,
  ],
  [
    'a lock of nobody',
    'POST',
    `q/sessions/$renew?sessionId=a&sessionLock=${NOBODYS}`,
    410,
    'SessionLockLost',
    /accept the session again/i,
  ],
  [
    'a lock of nobody, to receive',
    'POST',
    `q/messages/head?timeout=0&sessionId=a&sessionLock=${NOBODYS}`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'a lock of nobody, to receive and delete',
    'DELETE',
    `q/messages/head?timeout=0&sessionId=a&sessionLock=${NOBODYS}`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'a lock of nobody, to clear the state',
    'DELETE',
    `q/sessions/$state?sessionId=a&sessionLock=${NOBODYS}`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'the lock of one session for another',
    'POST',
    'q/sessions/$release?sessionId=b&sessionLock=<lock>',
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'a timeout that is no number',
    'POST',
    'q/sessions/$accept?timeout=soon',
    400,
    'ArgumentError',
    /timeout 'soon'/,
  ],
  [
    'a session of a dead-letter queue',
    'POST',
    'q/$deadletterqueue/sessions/$accept?timeout=0',
    400,
    'InvalidOperation',
    /does not require sessions/,
  ],
  [
    'a session of a queue that has none',
    'POST',
    'plain/sessions/$accept?timeout=0',
    400,
    'InvalidOperation',
    /does not require sessions/,
  ],
  [
    'a session of a queue that is not there',
    'POST',
    'nowhere/sessions/$accept?timeout=0',
    410,
    'MessagingEntityNotFound',
    /nowhere/,
  ],
  ['a session of a topic', 'POST', 't/sessions/$accept?timeout=0', 400, 'InvalidOperation', /./],
  [
    'a settlement without its session',
    'DELETE',
    `q/messages/1/${NOBODYS}`,
    400,
    'InvalidOperation',
    /requires sessions/,
  ],
  [
    'a message lock of nobody in a session',
    'DELETE',
    `q/messages/1/${NOBODYS}?sessionId=a`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
];

for (const [what, method, path, status, code, sentence] of ROWS) {
  test(`#157 ${what} is refused with ${status} ${code}, and nothing is lost`, async (t) => {
    const scene = await startSessions(t);
    const { broker } = scene;
    await broker.createQueue('plain');
    await broker.putEntity('t', 'TopicDescription', {});
    await scene.send('a', '1', '2');
    const session = await scene.next();
    const answer = await broker.request(method, path.replace('<lock>', session.lock));
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers.get('x-dynabus-error'), code);
    assert.match(answer.text, sentence);
    assert.deepEqual(await drain(session), ['1', '2']);
  });
}

test('a lock is read in any case of its letters', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const { lock } = await scene.next();
  const query = `sessionId=a&sessionLock=${lock.toUpperCase()}`;
  assert.equal((await scene.broker.request('POST', `q/sessions/$renew?${query}`)).status, 200);
});

test('in a session a message needs no renewal of its own, and gets none', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const session = await scene.next();
  const message = await session.peekLock();
  assert.ok(message?.location);
  for (const answer of [
    await scene.broker.request('POST', message.location),
    await scene.broker.post('q', '$renew', { lockTokens: [message.broker.LockToken] }),
  ]) {
    assert.ok(answer.status >= 400 || answer.text.includes('error'), answer.text);
  }
  scene.advance({ seconds: 59 });
  await session.renew();
  scene.advance({ seconds: 59 });
  assert.equal((await scene.broker.request('DELETE', message.location)).status, 200);
});
