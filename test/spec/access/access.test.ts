import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { START } from '../../support/manual-clock.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { type Row, testRefusals } from '../management/refusal.ts';

interface Token {
  readonly audience?: string;
  readonly key?: string;
  readonly keyName?: string;
  /** Unix seconds. */
  readonly expiry?: number;
}

const IN_AN_HOUR = START / 1000 + 3600;

/** Creates a token as the vendor documents it (semantics K1), without the code under test. */
function token({
  audience = 'http://127.0.0.1',
  key = ROOT_KEY,
  keyName = 'RootManageSharedAccessKey',
  expiry = IN_AN_HOUR,
}: Token): string {
  const sr = encodeURIComponent(audience);
  const sig = createHmac('sha256', key).update(`${sr}\n${expiry}`).digest('base64');
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=${expiry}&skn=${keyName}`;
}

const denied = { status: 401, code: 'Unauthenticated' } as const;

const TOKENS: readonly Omit<Row, 'method' | 'path' | 'status' | 'code'>[] = [
  {
    what: 'a missing token',
    options: { authorization: null, body: 'x' },
    sentence: /^MissingToken: The authorization header wasn't found\.$/,
  },
  ...['Bearer eyJhbGciOi', 'Basic dTpw', 'SharedAccessSignature', 'SharedAccessSignature x'].map(
    (authorization) => ({
      what: `the token '${authorization}'`,
      options: { authorization, body: 'x' },
      sentence: /^MalformedToken: The token is malformed: /,
    }),
  ),
  ...['sr', 'sig', 'se', 'skn'].map((field) => ({
    what: `a token without '${field}'`,
    options: {
      authorization: token({}).replace(new RegExp(`(?<=[ &])${field}=[^&]*&?`), ''),
      body: 'x',
    },
    sentence: new RegExp(`^MalformedToken: The token is malformed: the field '${field}' is`),
  })),
  {
    what: '#151 an expired token',
    options: { authorization: token({ expiry: START / 1000 - 1 }), body: 'x' },
    sentence:
      /^ExpiredToken: The token is expired\. Expiration time: '2025-12-31T23:59:59\.000Z'\.$/,
  },
  {
    what: '#151 a token that expires at the current instant',
    options: { authorization: token({ expiry: START / 1000 }), body: 'x' },
    sentence: /^ExpiredToken: /,
  },
  {
    what: '#151 a token that is signed with another key',
    options: { authorization: token({ key: 'guess' }), body: 'x' },
    sentence: /^InvalidSignature: The token has an invalid signature\.$/,
  },
  {
    what: '#151 a token whose expiry was changed after it was signed',
    options: {
      authorization: token({}).replace(/se=\d+/, `se=${IN_AN_HOUR + 1}`),
      body: 'x',
    },
    sentence: /^InvalidSignature: The token has an invalid signature\.$/,
  },
  {
    what: 'a token of a key that does not exist',
    options: { authorization: token({ keyName: 'missing' }), body: 'x' },
    sentence: /^InvalidSignature: The token has an invalid signature\.$/,
  },
  {
    what: '#152 a token for another queue',
    options: { authorization: token({ audience: 'http://127.0.0.1/other' }), body: 'x' },
    sentence: /^InvalidAudience: The token is for 'http:\/\/127\.0\.0\.1\/other', which does not/,
  },
  {
    what: '#152 a token for a path that ends within a segment of the requested one',
    options: { authorization: token({ audience: 'http://127.0.0.1/q/mess' }), body: 'x' },
    sentence: /^InvalidAudience: /,
  },
  {
    what: '#152 a token for another host',
    options: { authorization: token({ audience: 'https://elsewhere.example/q' }), body: 'x' },
    sentence: /^InvalidAudience: /,
  },
];

testRefusals([
  ...TOKENS.map((row) => ({ ...row, ...denied, method: 'POST', path: 'q/messages' })),
  ...(
    [
      ['POST', 'q/messages/head?timeout=0'],
      ['DELETE', 'q/messages/head?timeout=0'],
      ['POST', 'q/messages/$settle'],
      ['POST', 'q/messages/$renew'],
      ['DELETE', 'q/messages/1/7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547'],
      ['PUT', 'q'],
      ['DELETE', 'q'],
      ['POST', 'missing/messages'],
    ] as const
  ).map(([method, path]) => ({
    ...denied,
    what: `${method} ${path} without a token`,
    method,
    path,
    options: { authorization: null },
    sentence: /^MissingToken: /,
  })),
]);

const KEYS = {
  sender: 'c2VuZGVyc2VuZGVyc2VuZGVyc2VuZGVyc2VuZGVyMDE=',
  listener: 'bGlzdGVuZXJsaXN0ZW5lcmxpc3RlbmVybGlzdGVuZTE=',
} as const;

const policy = (name: keyof typeof KEYS, right: string) =>
  `<AuthorizationRule><Rights><AccessRights>${right}</AccessRights></Rights><KeyName>${name}</KeyName><PrimaryKey>${KEYS[name]}</PrimaryKey></AuthorizationRule>`;

async function startWithPolicies(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  const AuthorizationRules = policy('sender', 'Send') + policy('listener', 'Listen');
  for (const name of ['q', 'q2']) {
    expectStatus(await broker.createQueue(name, { AuthorizationRules }), 201);
    expectStatus(await broker.send(name, 'there'), 201);
  }
  return broker;
}

const tokenOf = (keyName: keyof typeof KEYS, audience = 'http://127.0.0.1/q') => ({
  authorization: token({ audience, keyName, key: KEYS[keyName] }),
});

test('#150 a key of a policy with only Listen can receive and settle, but not send or manage', async (t) => {
  const broker = await startWithPolicies(t);
  const locked = await broker.request('POST', 'q/messages/head?timeout=0', tokenOf('listener'));
  assert.equal(locked.status, 201);
  const location = locked.headers.get('location') ?? '';
  assert.equal((await broker.request('POST', location, tokenOf('listener'))).status, 200);
  assert.equal((await broker.request('DELETE', location, tokenOf('listener'))).status, 200);

  const sent = await broker.request('POST', 'q/messages', { ...tokenOf('listener'), body: 'x' });
  assert.equal(sent.status, 401);
  assert.match(sent.text, /Unauthorized access\. 'Send' claim\(s\) are required/);
  assert.match(sent.text, /TrackingId:/);
  assert.equal((await broker.request('GET', 'q', tokenOf('listener'))).status, 401);
  assert.equal((await broker.request('DELETE', 'q', tokenOf('listener'))).status, 401);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#150 a key of a policy with only Send can send, but not receive', async (t) => {
  const broker = await startWithPolicies(t);
  const sent = await broker.request('POST', 'q/messages', { ...tokenOf('sender'), body: 'x' });
  assert.equal(sent.status, 201);
  for (const method of ['POST', 'DELETE']) {
    const answer = await broker.request(method, 'q/messages/head?timeout=0', tokenOf('sender'));
    assert.equal(answer.status, 401);
    assert.match(answer.text, /'Listen' claim\(s\) are required/);
  }
  assert.equal((await broker.receiveAndDeleteMany('q', 9)).length, 2);
});

test('#152 a token for a queue is valid on all its paths and on no other queue', async (t) => {
  const broker = await startWithPolicies(t);
  const rootOfQ = { authorization: token({ audience: 'sb://127.0.0.1:9999/Q/' }) };
  for (const path of ['q', 'Q/$deadletterqueue']) {
    const answer = await broker.request('POST', `${path}/messages/head?timeout=0`, rootOfQ);
    assert.ok(answer.status === 201 || answer.status === 204, answer.text);
  }
  assert.equal((await broker.request('GET', 'q', rootOfQ)).status, 200);
  const other = await broker.request('POST', 'q2/messages/head?timeout=0', rootOfQ);
  assert.equal(other.status, 401);
  assert.match(other.text, /40104: InvalidAudience: /);
});

test('#152 a policy of one queue allows nothing on another, even with a token for the whole namespace', async (t) => {
  const broker = await startWithPolicies(t);
  expectStatus(await broker.createQueue('bare'), 201);
  const wide = tokenOf('sender', 'http://127.0.0.1');
  assert.equal((await broker.request('POST', 'q/messages', { ...wide, body: 'x' })).status, 201);
  const answer = await broker.request('POST', 'bare/messages', { ...wide, body: 'x' });
  assert.equal(answer.status, 401);
  assert.match(answer.text, /40103: InvalidSignature: /);
  assert.equal(await broker.peekLock('bare'), undefined);
});

test('a token is valid to the last millisecond before it expires', async (t) => {
  const broker = await startWithPolicies(t);
  const receive = () =>
    broker.request('POST', 'q2/$deadletterqueue/messages/head?timeout=0', {
      authorization: token({}),
    });
  broker.clock.advance({ hours: 1, ms: -1 });
  assert.equal((await receive()).status, 204);
  broker.clock.advance({ ms: 1 });
  assert.equal((await receive()).status, 401);
});
