import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import {
  authorize,
  authorizeBeforeBody,
  authorizeEntity,
  IamRequest,
} from '../../../lambdas/http/routing/access.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { parseSasToken } from '../../../shared/auth/sas-token-text.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import {
  type AccessRight,
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import {
  fakeEntity,
  findableEntities,
  httpDependencies,
  rule,
} from '../../support/http-fixture.ts';

const HOUR = 3_600_000;

const dependencies = httpDependencies({
  namespaceKeys: {
    rules: async () => [rule('root', 'Manage', 'Send', 'Listen'), rule('listener', 'Listen')],
  },
  entities: findableEntities({
    q: fakeEntity('q', { ...QUEUE_DEFAULTS, authorizationRules: [rule('ofQueue', 'Send')] }),
    t: fakeEntity('t', { ...TOPIC_DEFAULTS, authorizationRules: [rule('ofTopic', 'Listen')] }),
    't/subscriptions/s': fakeEntity('t/subscriptions/s', SUBSCRIPTION_DEFAULTS),
  }),
});

interface Attempt {
  readonly token?: string;
  readonly url?: string;
  readonly path?: string;
  readonly right?: AccessRight;
  readonly host?: string;
}

async function attempt({
  token,
  url = 'http://localhost:5300/q/messages',
  path = 'q',
  right = 'Send',
  host,
}: Attempt): Promise<string> {
  const headers = new Headers();
  if (token !== undefined) headers.set('authorization', token);
  if (host !== undefined) headers.set('host', host);
  try {
    await authorize(dependencies, new Request(url, { headers }), parseEntityPath(path), [right]);
    return 'allowed';
  } catch (error) {
    assert.ok(error instanceof BrokerError);
    assert.equal(error.code, 'Unauthenticated');
    return `${error.subCode} ${error.message}`;
  }
}

const token = (audience: string, changes: Partial<Parameters<typeof createSasToken>[0]> = {}) =>
  createSasToken({
    audience,
    keyName: 'root',
    key: 'root-primary',
    expiresAt: FAKE_NOW + HOUR,
    ...changes,
  });

/** A token in the form of the official administration client: lower-case, fields in another order. */
function clientToken(url: string): string {
  const sr = encodeURIComponent(url.toLowerCase()).toLowerCase();
  const se = Math.floor((FAKE_NOW + HOUR) / 1000);
  const sig = createHmac('sha256', 'root-primary').update(`${sr}\n${se}`).digest('base64');
  return `SharedAccessSignature sig=${encodeURIComponent(sig)}&se=${se}&skn=root&sr=${sr}`;
}

for (const audience of [
  'http://localhost:5300/q/messages',
  'http://localhost:5300/q',
  'sb://LOCALHOST/Q/',
  'https://localhost/q?api-version=2021-05',
  'localhost:5300',
  'http://localhost',
  'http://127.0.0.1:5300/q',
  'http://[::1]:5300/q',
]) {
  test(`a token for ${audience} allows sending to q`, async () => {
    assert.equal(await attempt({ token: token(audience) }), 'allowed');
  });
}

for (const audience of [
  'http://localhost:5300/q2',
  'http://localhost:5300/q/mess',
  'http://localhost/q/messages/head',
  'http://elsewhere.example/q',
  '/q',
]) {
  test(`a token for ${audience} does not allow sending to q`, async () => {
    assert.match(await attempt({ token: token(audience) }), /^40104 InvalidAudience: /);
  });
}

test('signatures are checked over sr exactly as the official client sends it', async () => {
  const url = 'http://localhost:5300/A%20b+%C3%BC?api-version=2021-05';
  assert.equal(await attempt({ token: clientToken(url), url }), 'allowed');
});

const LOCAL_NAMES = ['localhost', 'x.localhost', '127.0.0.1', '127.1.2.3', '[::1]', '0.0.0.0'];

test('on a laptop a token for one local host name is valid for the others', async () => {
  for (const called of LOCAL_NAMES) {
    const url = `http://${called}:5300/q/messages`;
    for (const name of LOCAL_NAMES) {
      const outcome = await attempt({ token: token(`http://${name}/q`), url, host: `${called}:1` });
      assert.equal(outcome, 'allowed', `${name} on ${called}`);
    }
  }
});

test('a deployed service refuses a token for a local host name, whatever host the client claims', async () => {
  const url = 'https://b.execute-api.eu-central-1.amazonaws.com/q/messages';
  for (const name of LOCAL_NAMES) {
    for (const audience of [name, `https://${name}/q`, `sb://${name}:5300/`]) {
      const forLocal = token(audience);
      for (const called of [{}, { host: new URL(url).host }, { host: name }]) {
        assert.match(
          await attempt({ token: forLocal, url, ...called }),
          /^40104 InvalidAudience: /,
        );
      }
    }
  }
  assert.equal(await attempt({ token: token(url), url, host: new URL(url).host }), 'allowed');
});

test('a token for a local host name is refused if the client uses a host name that is not local', async () => {
  for (const host of [
    'bus.example.org',
    '192.168.1.5:5300',
    'localhost.example.org',
    '128.0.0.1',
  ]) {
    assert.match(await attempt({ token: token('http://localhost'), host }), /^40104/);
  }
});

test('a service with another host name accepts tokens for that name', async () => {
  const forName = token('https://bus.example.org/q');
  assert.equal(await attempt({ token: forName, host: 'bus.example.org' }), 'allowed');
  assert.match(await attempt({ token: forName, host: 'other.example' }), /^40104/);
});

test('both keys of a rule are valid, and rules of the entity and of a subscription’s topic apply', async () => {
  const rows: readonly [Attempt, string][] = [
    [{ token: token('localhost', { key: 'root-secondary' }) }, 'allowed'],
    [{ token: token('localhost', { keyName: 'ofQueue', key: 'ofQueue-primary' }) }, 'allowed'],
    [
      {
        token: token('localhost', { keyName: 'ofTopic', key: 'ofTopic-secondary' }),
        url: 'http://localhost/t/subscriptions/s/messages/head',
        path: 't/subscriptions/s',
        right: 'Listen',
      },
      'allowed',
    ],
    [
      { token: token('localhost', { keyName: 'ofTopic', key: 'ofTopic-primary' }) },
      '40103 InvalidSignature: The token has an invalid signature.',
    ],
  ];
  for (const [row, outcome] of rows) assert.equal(await attempt(row), outcome);
});

test('every refusal has the subcode and the sentence of its reason', async () => {
  const good = token('localhost');
  const rows: readonly [string | undefined, RegExp][] = [
    [undefined, /^40102 MissingToken: The authorization header wasn't found\.$/],
    ['', /^40102/],
    ['Bearer abc', /^40105 MalformedToken: /],
    ['SharedAccessSignature', /^40105/],
    ['SharedAccessSignature sr=a&sig=b&se=1', /^40105 .*'skn' is missing/],
    [good.replace(/se=\d+/, 'se=soon'), /^40105 .*'se'/],
    [good.replace(/sr=[^&]+/, 'sr=%zz'), /^40105 .*'sr'/],
    [good.replace(/se=\d+/, 'se=1999999999'), /^40103 InvalidSignature: The token has an invalid/],
    [good.replace(/sig=[^&]+/, 'sig=AAAA'), /^40103/],
    [token('localhost', { keyName: 'nobody' }), /^40103/],
    [token('localhost', { key: 'guess' }), /^40103/],
    [
      token('localhost', { expiresAt: FAKE_NOW }),
      /^40106 ExpiredToken: The token is expired\. Expiration time: '2026-01-15T12:00:00\.000Z'\.$/,
    ],
    [
      token('localhost', { keyName: 'listener', key: 'listener-primary' }),
      /^undefined Unauthorized access\. 'Send' claim\(s\) are required to perform this operation\. Resource: 'sb:\/\/localhost:5300\/q\/messages'\.$/,
    ],
  ];
  for (const [header, reason] of rows) {
    assert.match(await attempt(header === undefined ? {} : { token: header }), reason);
  }
});

test('one of several rights is enough, and an empty list requires no token', async () => {
  const request = new Request('http://localhost/q', {
    headers: {
      authorization: token('http://localhost', { keyName: 'listener', key: 'listener-primary' }),
    },
  });
  await authorize(dependencies, request, undefined, ['Manage', 'Listen']);
  await assert.rejects(
    authorize(dependencies, request, undefined, ['Manage', 'Send']),
    /^BrokerError: Unauthorized access\. 'Manage' or 'Send' claim\(s\) are required/,
  );
  await authorize(dependencies, new Request('http://localhost/q'), undefined, []);
});

test('a request that IAM authorized needs no token, and its token is ignored', async () => {
  for (const headers of [{}, { authorization: 'SharedAccessSignature sr=nonsense' }]) {
    const request = new IamRequest('http://localhost/q', { headers }, '/q');
    await authorize(dependencies, request, parseEntityPath('q'), ['Manage']);
    await authorizeBeforeBody(dependencies, request, ['Send']);
    await authorizeEntity(dependencies, request, parseEntityPath('q'), ['Send']);
  }
});

test('a request whose path IAM evaluated in another spelling is refused, with or without a token', async () => {
  for (const judged of ['/x/../q', '/Q', '/%71', '//q', '/q/..', '']) {
    const request = new IamRequest('http://localhost/q', { headers: {} }, judged);
    const isForbidden = { code: 'Forbidden' };
    await assert.rejects(
      authorize(dependencies, request, parseEntityPath('q'), ['Send']),
      isForbidden,
    );
    await assert.rejects(authorizeBeforeBody(dependencies, request, ['Send']), isForbidden);
    await assert.rejects(
      authorizeEntity(dependencies, request, parseEntityPath('q'), ['Send']),
      isForbidden,
    );
  }
});

test('a parsed token holds no more bytes than its signature has', () => {
  const { signature } = parseSasToken(
    createSasToken({
      audience: 'http://localhost/q',
      keyName: 'root',
      key: 'root-primary',
      expiresAt: FAKE_NOW + HOUR,
    }),
  );
  assert.equal(signature.byteLength, 32);
  assert.equal(signature.buffer.byteLength, 32);
});
