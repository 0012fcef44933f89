import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drain, startSessions } from './session-fixture.ts';

const UNKNOWN_LOCK = '01234567-89ab-cdef-0123-456789abcdef';

/** Invalid session requests and their answers; `<lock>` stands for the live lock of session a. */
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
    'a lock that is not a GUID',
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
    'a renewal with an unknown lock',
    'POST',
    `q/sessions/$renew?sessionId=a&sessionLock=${UNKNOWN_LOCK}`,
    410,
    'SessionLockLost',
    /accept the session again/i,
  ],
  [
    'a receive with an unknown lock',
    'POST',
    `q/messages/head?timeout=0&sessionId=a&sessionLock=${UNKNOWN_LOCK}`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'a receive-and-delete with an unknown lock',
    'DELETE',
    `q/messages/head?timeout=0&sessionId=a&sessionLock=${UNKNOWN_LOCK}`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'clearing the state with an unknown lock',
    'DELETE',
    `q/sessions/$state?sessionId=a&sessionLock=${UNKNOWN_LOCK}`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'a release with the lock of another session',
    'POST',
    'q/sessions/$release?sessionId=b&sessionLock=<lock>',
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
  [
    'a timeout that is not a number',
    'POST',
    'q/sessions/$accept?timeout=soon',
    400,
    'ArgumentError',
    /timeout 'soon'/,
  ],
  [
    'an accept on a dead-letter queue',
    'POST',
    'q/$deadletterqueue/sessions/$accept?timeout=0',
    400,
    'InvalidOperation',
    /does not require sessions/,
  ],
  [
    'an accept on a queue without sessions',
    'POST',
    'plain/sessions/$accept?timeout=0',
    400,
    'InvalidOperation',
    /does not require sessions/,
  ],
  [
    'an accept on a queue that does not exist',
    'POST',
    'nowhere/sessions/$accept?timeout=0',
    410,
    'MessagingEntityNotFound',
    /nowhere/,
  ],
  ['an accept on a topic', 'POST', 't/sessions/$accept?timeout=0', 400, 'InvalidOperation', /./],
  [
    'a settlement that names no session',
    'DELETE',
    `q/messages/1/${UNKNOWN_LOCK}`,
    400,
    'InvalidOperation',
    /requires sessions/,
  ],
  [
    'a settlement with an unknown message lock',
    'DELETE',
    `q/messages/1/${UNKNOWN_LOCK}?sessionId=a`,
    410,
    'SessionLockLost',
    /session lock has expired/,
  ],
];

for (const [what, method, path, status, code, sentence] of ROWS) {
  test(`#157 ${what} is refused with ${status} ${code}, and no message is lost`, async (t) => {
    const fixture = await startSessions(t);
    const { broker } = fixture;
    await broker.createQueue('plain');
    await broker.putEntity('t', 'TopicDescription', {});
    await fixture.send('a', '1', '2');
    const session = await fixture.next();
    const answer = await broker.request(method, path.replace('<lock>', session.lock));
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers.get('x-dynabus-error'), code);
    assert.match(answer.text, sentence);
    assert.deepEqual(await drain(session), ['1', '2']);
  });
}

test('a session lock id is case-insensitive', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const { lock } = await fixture.next();
  const query = `sessionId=a&sessionLock=${lock.toUpperCase()}`;
  assert.equal((await fixture.broker.request('POST', `q/sessions/$renew?${query}`)).status, 200);
});

test('renewing a single message of a session is refused, since renewing the session suffices', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const session = await fixture.next();
  const message = await session.peekLock();
  assert.ok(message?.location);
  for (const answer of [
    await fixture.broker.request('POST', message.location),
    await fixture.broker.post('q', '$renew', { lockTokens: [message.broker.LockToken] }),
  ]) {
    assert.ok(answer.status >= 400 || answer.text.includes('error'), answer.text);
  }
  fixture.advance({ seconds: 59 });
  await session.renew();
  fixture.advance({ seconds: 59 });
  assert.equal((await fixture.broker.request('DELETE', message.location)).status, 200);
});
