import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import { startApp } from '../../support/http-fixture.ts';

const TOKEN = '00000000-0000-4000-8000-000000000001';
const UNKNOWN = '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547';

interface ShownError {
  readonly code: string;
  readonly retryable: boolean;
  readonly trackingId: string;
}

/** All members that a JSON response may have; each test reads some of them. */
interface Answer {
  readonly settlements: readonly { readonly settled: boolean; readonly error?: ShownError }[];
  readonly renewals: readonly { readonly lockToken: string; readonly error?: ShownError }[];
  readonly messages: readonly { readonly Body: string }[];
  readonly error: ShownError;
}

async function answerOf(response: Response): Promise<Answer> {
  return (await response.json()) as Answer;
}

const message = (text: string, more: Partial<Message> = {}): { readonly message: Message } => ({
  message: { messageId: text, body: new TextEncoder().encode(text), properties: {}, ...more },
});

test('a peek-lock response has the message and the address of its lock', async () => {
  const { call, broker } = startApp();
  broker.put('q/$deadletterqueue', {
    ...message('hello', {
      contentType: 'text/plain',
      properties: { Priority: { type: 'string', value: 'Hügh' } },
    }),
  });
  const response = await call('POST', '/Q/$DeadLetterQueue/Messages/HEAD?timeout=5');
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('content-type'), 'text/plain');
  assert.equal(response.headers.get('priority'), '"H\\u00fcgh"');
  assert.equal(
    response.headers.get('location'),
    `http://localhost/q/$deadletterqueue/messages/1/${TOKEN}`,
  );
  assert.match(response.headers.get('brokerproperties') ?? '', /"LockToken":"0{8}-/);
  assert.equal(await response.text(), 'hello');
  const { beforeAttempt, signal, payloads, ...options } = broker.received[0]?.options ?? {};
  assert.deepEqual(options, { mode: 'peekLock', maxMessages: 1, waitMs: 5000 });
  assert.ok(beforeAttempt, 'the right is checked again during the wait');
  assert.ok(signal, 'a client that goes away ends the wait');
  assert.ok(payloads, 'large messages count');
});

test('a receive-and-delete response has no lock, and the default content type', async () => {
  const { call, broker } = startApp();
  broker.put('t/subscriptions/s', message('hello'));
  const response = await call('DELETE', '/t/Subscriptions/s/messages/head');
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('location'), null);
  assert.equal(
    response.headers.get('content-type'),
    'application/atom+xml;type=entry;charset=utf-8',
  );
  assert.doesNotMatch(response.headers.get('brokerproperties') ?? '', /Lock/);
  assert.equal(broker.received[0]?.options.waitMs, 60_000);
});

test('the address of a lock has the scheme that the client used', async () => {
  const { call, broker } = startApp();
  broker.put('q', message('x'));
  const headers = { 'x-forwarded-proto': 'https' };
  const response = await call('POST', '/q/messages/head', { headers });
  assert.match(response.headers.get('location') ?? '', /^https:\/\/localhost\/q\//);
});

test('properties that no header can carry are in BrokerProperties', async () => {
  const { call, broker } = startApp();
  const properties = { 'a b': { type: 'long', value: 5n }, Host: { type: 'null' } } as const;
  broker.put('q', message('x', { contentType: 'evil\r\nx: y', label: '日本', properties }));
  const response = await call('DELETE', '/q/messages/head');
  const printed = response.headers.get('brokerproperties') ?? '';
  assert.match(printed, /^[ -~]*$/);
  const { ContentType, Label, UserProperties } = JSON.parse(printed);
  assert.deepEqual([ContentType, Label], ['evil\r\nx: y', '日本']);
  assert.deepEqual(UserProperties, { 'a b': { $long: '5' }, Host: null });

  await call('POST', '/q/messages', { headers: { brokerproperties: printed } });
  assert.deepEqual(broker.waiting('q')[0]?.message.properties, properties);
});

test('no message is 204, with Retry-After: 1 after a shortened wait', async () => {
  const { call } = startApp({ receiveWaitMsMax: 2000 });
  const short = await call('POST', '/q/messages/head?timeout=2');
  assert.deepEqual([short.status, short.headers.get('retry-after')], [204, null]);
  const long = await call('DELETE', '/q/messages/head?maxMessages=5');
  assert.deepEqual([long.status, long.headers.get('retry-after')], [204, '1']);
});

for (const [method, status] of [
  ['POST', 201],
  ['DELETE', 200],
] as const) {
  test(`${method} with maxMessages returns ${status} and a batch`, async () => {
    const { call, broker } = startApp();
    for (const text of ['a', 'b', 'c']) broker.put('q', message(text));
    const response = await call(method, '/q/messages/head?maxMessages=2');
    assert.equal(response.status, status);
    assert.equal(response.headers.get('content-type'), 'application/vnd.microsoft.servicebus.json');
    const batch = (await response.json()) as Answer['messages'];
    assert.deepEqual(
      batch.map((one) => one.Body),
      ['a', 'b'],
    );
  });
}

for (const query of [
  'timeout=-1',
  'timeout=x',
  'timeout=1.5',
  'timeout=',
  'maxMessages=0',
  'maxMessages=1001',
  'maxMessages=x',
  'maxMessages=-1',
]) {
  test(`?${query} is 400`, async () => {
    const { call, broker } = startApp();
    assert.equal((await call('POST', `/q/messages/head?${query}`)).status, 400);
    assert.deepEqual(broker.received, []);
  });
}

test('a lock is completed, abandoned and renewed at its address; a stale one is 404', async () => {
  const { call, broker } = startApp();
  for (const [method, renewed] of [
    ['POST', true],
    ['PUT', false],
    ['DELETE', false],
  ] as const) {
    if (broker.waiting('q').length === 0) broker.put('q', message('x'));
    const location = (await call('POST', '/q/messages/head')).headers.get('location') ?? '';
    const path = new URL(location).pathname;
    const response = await call(method, path);
    assert.equal(response.status, 200);
    assert.equal(await response.text(), '');
    assert.equal(
      response.headers.get('brokerproperties'),
      renewed ? '{"LockedUntilUtc":"Thu, 15 Jan 2026 12:02:00 GMT"}' : null,
    );
  }
  for (const method of ['DELETE', 'PUT', 'POST']) {
    const stale = await call(method, `/q/messages/1/${UNKNOWN}`);
    assert.equal(stale.status, 404);
    assert.match(await stale.text(), /The lock supplied is invalid\./);
    assert.equal((await call(method, '/q/messages/1/no-guid')).status, 400);
  }
});

test('$settle returns an outcome for each settlement', async () => {
  const { call, broker } = startApp();
  broker.put('q', message('x'));
  await call('POST', '/q/messages/head');
  const settlements = [
    { lockToken: TOKEN, outcome: 'abandon', delaySeconds: 1.5, properties: { a: 1 } },
    { lockToken: UNKNOWN, outcome: 'deadLetter', deadLetterReason: 'r' },
  ];
  const response = await call('POST', '/q/messages/$settle', {
    body: JSON.stringify({ settlements }),
  });
  assert.equal(response.status, 200);
  const { settlements: outcomes } = await answerOf(response);
  assert.deepEqual(outcomes[0], { lockToken: TOKEN, settled: true });
  assert.equal(outcomes[1]?.settled, false);
  assert.equal(outcomes[1]?.error?.code, 'MessageLockLost');
  assert.equal(outcomes[1]?.error?.retryable, false);
  assert.match(outcomes[1]?.error?.trackingId ?? '', /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    broker.settled[0]?.settlements.map(({ action }) => action),
    [
      { kind: 'abandon', delayMs: 1500, properties: { a: { type: 'int', value: 1 } } },
      { kind: 'deadLetter', reason: 'r' },
    ],
  );
});

test('$renew returns an outcome for each lock', async () => {
  const { call, broker } = startApp();
  broker.put('q', message('x'));
  await call('POST', '/q/messages/head');
  const response = await call('POST', '/q/messages/$Renew', {
    body: JSON.stringify({ lockTokens: [TOKEN, UNKNOWN] }),
  });
  const { renewals } = await answerOf(response);
  assert.deepEqual(renewals[0], {
    lockToken: TOKEN,
    lockedUntilUtc: 'Thu, 15 Jan 2026 12:02:00 GMT',
    lockedUntil: '2026-01-15T12:02:00.000Z',
  });
  assert.equal(renewals[1]?.error?.code, 'MessageLockLost');
});

const complete = (lockToken: unknown) => ({ settlements: [{ lockToken, outcome: 'complete' }] });
const abandon = (more: object) => ({
  settlements: [{ lockToken: TOKEN, outcome: 'abandon', ...more }],
});

const BAD_BODIES: readonly [string, unknown, RegExp][] = [
  ['$settle', '', /The body is not valid JSON/],
  ['$settle', '{', /The body is not valid JSON/],
  ['$settle', '['.repeat(64), /The body is not valid JSON/],
  ['$settle', '['.repeat(100_000), /The body holds .* more than 64 lists and objects deep/],
  ['$settle', [], /The body must be an object/],
  ['$settle', {}, /settlements must be an array/],
  ['$settle', { settlements: [] }, /settlements is too small or short; the least is 1/],
  ['$settle', { settlements: Array(1001).fill(complete(TOKEN).settlements[0]) }, /limit is 1000/],
  ['$settle', { settlements: [1] }, /settlements\[0\] must be an object/],
  [
    '$settle',
    { settlements: [{ outcome: 'reject' }] },
    /settlements\[0\]\.outcome must be complete/,
  ],
  ['$settle', complete(7), /settlements\[0\]\.lockToken must be a string/],
  ['$settle', abandon({ delay: 5 }), /settlements\[0\] may not have 'delay'/],
  ['$settle', abandon({ delaySeconds: -1 }), /delaySeconds is too small/],
  ['$settle', abandon({ delaySeconds: 1e300 }), /delaySeconds is too large/],
  ['$settle', abandon({ delaySeconds: '5' }), /delaySeconds must be a number/],
  ['$settle', abandon({ properties: { x: [] } }), /The property 'x' is a list/],
  ['$settle', '{"settlements":[],"__proto__":{}}', /settlements|__proto__/],
  ['$renew', { lockTokens: [1] }, /lockTokens\[0\] must be a string/],
  ['$renew', { lockTokens: [] }, /lockTokens is too small/],
  ['head', {}, /settlements must be an array/],
];
for (const [route, body, text] of BAD_BODIES) {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  test(`POST …/messages/${route} with ${sent.slice(0, 60)} is 400`, async () => {
    const { call, broker } = startApp();
    const response = await call('POST', `/q/messages/${route}`, { body: sent });
    assert.equal(response.status, 400);
    assert.match(await response.text(), text);
    assert.deepEqual([broker.settled, broker.received], [[], []]);
  });
}

test('settling and receiving in one call returns outcomes and messages', async () => {
  const { call, broker } = startApp();
  broker.put('q', message('a'));
  broker.put('q', message('b'));
  await call('POST', '/q/messages/head');
  const body = JSON.stringify(complete(TOKEN));
  const first = await call('POST', '/q/messages/head?maxMessages=10&timeout=0', { body });
  assert.equal(first.status, 200);
  const { settlements, messages } = await answerOf(first);
  assert.deepEqual(settlements, [{ lockToken: TOKEN, settled: true }]);
  assert.equal(messages[0]?.Body, 'b');

  const again = await call('DELETE', '/q/messages/head?timeout=0', { body });
  assert.equal(again.status, 200);
  const { settlements: refused, messages: none } = await answerOf(again);
  assert.equal(refused[0]?.settled, false);
  assert.deepEqual(none, []);
});

test('the settlement outcomes are returned even when the receive after them fails', async () => {
  const { call, broker } = startApp();
  broker.put('q', message('a'));
  await call('POST', '/q/messages/head');
  broker.failures.receive = new BrokerError('ServiceBusy', 'Busy.');
  const response = await call('POST', '/q/messages/head', {
    body: JSON.stringify(complete(TOKEN)),
  });
  assert.equal(response.status, 200);
  const { settlements, messages, error } = await answerOf(response);
  assert.deepEqual(
    [settlements[0]?.settled, messages, error.code, error.retryable],
    [true, [], 'ServiceBusy', true],
  );
});

test('a waiting receive counts once for its rule, however often its right is checked', async () => {
  let counted = 0;
  const { call, broker } = startApp({
    countOperation: () => {
      counted++;
    },
  });
  assert.equal((await call('POST', '/q/messages/head?timeout=5')).status, 204);
  const beforeAttempt = broker.received[0]?.options.beforeAttempt;
  for (let look = 0; look < 3; look++) await beforeAttempt?.();
  assert.equal(counted, 1);
});
