import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { FINISH_MS_MAX, type HttpApp, httpHandler } from '../../lambdas/http/lambda.ts';
import { deployedHttpSettings, functionSettings } from '../../shared/app/deployed-settings.ts';
import { readEndpoint, readHttpSettings, readTableNames } from '../../shared/app/settings.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { exactBody } from '../support/exact-messages.ts';
import { startApp } from '../support/http-fixture.ts';
import { LAMBDA_RESULT_BYTES_MAX } from '../support/lambda-broker.ts';

test('a request arrives as it was sent', async () => {
  const request = await arrive({
    method: 'POST',
    rawPath: '/orders/messages',
    rawQueryString: 'timeout=60&api-version=2015-01',
    headers: {
      host: 'b.example',
      authorization: 'SharedAccessSignature sr=x',
      'content-type': 'a/b',
    },
    body: Buffer.from([0, 255, 128]).toString('base64'),
    isBase64Encoded: true,
  });
  assert.equal(request.method, 'POST');
  assert.equal(request.url, 'https://b.example/orders/messages?timeout=60&api-version=2015-01');
  assert.equal(request.headers.get('authorization'), 'SharedAccessSignature sr=x');
  assert.deepEqual(new Uint8Array(await request.arrayBuffer()), Uint8Array.of(0, 255, 128));
});

test('every byte of exact messages survives the event and the result, which are in base64', async () => {
  const { app, broker } = startApp();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const type = 'application/vnd.dynabus.amqp';
  const authorization = createSasToken({
    audience: 'https://b.example',
    keyName: 'root',
    key: 'root-primary',
    expiresAt: Date.UTC(2099, 0, 1),
  });
  const headers = { authorization, accept: type, 'content-type': type };
  const body = exactBody({ messageId: 'm', body: bytes, properties: {} }).toString('base64');
  const event = { headers, method: 'POST', rawPath: '/q/messages' };
  const sent = await answer(app.fetch, { ...event, body, isBase64Encoded: true });
  assert.equal(sent.statusCode, 201);
  assert.deepEqual(Buffer.from(broker.waiting('q')[0]?.message.body ?? []), bytes);
  const result = await answer(app.fetch, { ...event, rawPath: '/q/messages/head' });
  assert.deepEqual([result.statusCode, result.headers?.['content-type']], [201, type]);
  assert.equal(result.isBase64Encoded, true);
  assert.ok(Buffer.from(result.body ?? '', 'base64').includes(bytes));
});

test('a method that no operation has arrives too, for a refusal as of any other', async () => {
  for (const method of ['TRACE', 'CONNECT', 'TRACK', 'Trace', 'PROPFIND', 'PATCH', 'a b', '']) {
    const request = await arrive({ method, rawPath: '/orders', body: 'x' });
    assert.equal(request.method, method);
    assert.equal(request.url, 'https://b.example/orders');
  }
});

test('a text body arrives in UTF-8', async () => {
  const request = await arrive({ method: 'POST', body: 'Größe ✓' });
  assert.equal(await request.text(), 'Größe ✓');
});

test('a path that was decoded on the way keeps its segments', async () => {
  const paths = {
    '/orders/$deadletterqueue/messages/head': '/orders/$deadletterqueue/messages/head',
    '/orders/%24deadletterqueue/messages': '/orders/%24deadletterqueue/messages',
    '/orders/messages/a b?c#d/1': '/orders/messages/a%20b%3Fc%23d/1',
    '/orders/messages/ü100%/1': '/orders/messages/%C3%BC100%25/1',
    '/orders/\ud800/messages': '/orders/%EF%BF%BD/messages',
  };
  for (const [rawPath, expected] of Object.entries(paths)) {
    assert.equal(new URL((await arrive({ rawPath })).url).pathname, expected);
  }
});

test('a path that was not decoded on the way stays as the client wrote it', async () => {
  const paths = [
    '/orders/%24deadletterqueue/messages/head',
    '/eu%2Forders/messages',
    '/orders/messages/a%20b%3Fc%23d/1',
    '/orders/messages/%C3%BC100%25/1',
    '/orders/messages/%2541/1',
    "/a-b_c.d~e!$&'()*+,;=:@/messages",
    '/a%5Cb%5B%5D/messages',
  ];
  for (const rawPath of paths) {
    assert.equal(new URL((await arrive({ rawPath })).url).pathname, rawPath);
  }
});

test('a query arrives as it was sent, also if a plus sign has become a space on the way', async () => {
  const queries = {
    'a=1&a=2&b=c%2Fd%20e&f=%2B': 'a=1&a=2&b=c%2Fd%20e&f=%2B',
    'a=b+c': 'a=b+c',
    'a=b c': 'a=b%20c',
  };
  for (const [rawQueryString, expected] of Object.entries(queries)) {
    assert.equal(new URL((await arrive({ rawQueryString })).url).search, `?${expected}`);
  }
});

test('row 20: a name with a segment of dots does not become the name of another entity', async () => {
  const paths = {
    '/a/../b': '/a/..%2Fb',
    '/./b/messages': '/.%2Fb/messages',
    '/a/../../b/..': '/a/..%2F..%2Fb%2F..',
    '/a/%2E./b': '/a/%2E.%2Fb',
    '/..': '/',
    '/a/..b/.c/d.': '/a/..b/.c/d.',
    '/a/%2e%2e/b': '/a/%2e%2e%2Fb',
    '/a%2F..%2Fb': '/a%2F..%2Fb',
  };
  for (const [rawPath, expected] of Object.entries(paths)) {
    assert.equal(new URL((await arrive({ rawPath })).url).pathname, expected);
  }
});

test('a header beyond ASCII arrives as the bytes it was sent as', async () => {
  const request = await arrive({ headers: { host: 'b.example', name: '"Größe ✓"' } });
  const bytes = Buffer.from(request.headers.get('name') ?? '', 'latin1');
  assert.equal(bytes.toString('utf8'), '"Größe ✓"');
});

test('a header that HTTP does not allow does not stop the function', async () => {
  for (const name of ['', 'a b', 'a(b)', 'a@b', 'gr\u00f6\u00dfe', '\ud800', 'a:']) {
    const request = await arrive({ headers: { [name]: 'x', other: 'y' } });
    assert.deepEqual([...request.headers], [['other', 'y']], name);
  }
  const request = await arrive({ headers: { a: 'x\r\ny\0z', b: '\u0001' } });
  assert.equal(request.headers.get('a'), 'x  y z');
  assert.equal(request.headers.get('b'), '\u0001');
});

test('a path that begins with no slash does not change the host', async () => {
  for (const rawPath of ['*', '@other.example/a', ':80/a', 'http://other.example/a', '']) {
    const { host, pathname } = new URL((await arrive({ rawPath })).url);
    assert.equal(host, 'b.example');
    assert.equal(pathname, `/${rawPath}`);
  }
});

test('an answer leaves as the bytes it is, whatever its content type says', async () => {
  const body = Uint8Array.of(0, 255, 128);
  for (const type of ['text/plain', undefined]) {
    const headers = type === undefined ? {} : { 'content-type': type };
    const result = await answer(() => new Response(body, { status: 201, headers }));
    assert.equal(result.statusCode, 201);
    assert.equal(result.isBase64Encoded, true);
    assert.deepEqual(Buffer.from(result.body ?? '', 'base64'), Buffer.from(body));
    assert.equal(result.headers?.['content-type'], type);
  }
});

test('the largest answer with a thousand outcomes is a result that Lambda takes', async () => {
  const result = await answer(() => {
    const text = 'x'.repeat(LIMITS.answerBytes + LIMITS.answerExtraBytes);
    const headers = { 'Content-Type': 'application/json', 'Retry-After': '60' };
    return new Response(text, { status: 200, headers });
  });
  const bytes = Buffer.byteLength(JSON.stringify(result));
  assert.ok(bytes <= LAMBDA_RESULT_BYTES_MAX - 15 * 1024, `${bytes} bytes`);
});

test('the largest message that comes alone is a result that Lambda takes', async () => {
  const result = await answer(() => {
    // A receive counts 256 KB for headers; 64 KB of properties take 15 times their size at most.
    const body = 'x'.repeat(LIMITS.answerBytes - 256 * 1024);
    const headers = { p: '\\'.repeat((15 * LIMITS.propertiesBytes) / 2) };
    return new Response(body, { status: 201, headers });
  });
  const bytes = Buffer.byteLength(JSON.stringify(result));
  assert.ok(bytes <= LAMBDA_RESULT_BYTES_MAX, `${bytes} bytes`);
});

test('functions bound their answers, and the gateway, which no Lambda bounds, does not', () => {
  const environment = {
    ENTITIES_TABLE: 'e',
    MESSAGES_TABLE: 'm',
    NAMESPACE: 'n',
    ROOT_KEY_SECRET: 's',
    RECEIVE_WAIT_MS_MAX: '1',
  };
  assert.equal(functionSettings(environment).answerBytesMax, LIMITS.answerBytes);
  assert.ok(!('answerBytesMax' in deployedHttpSettings(environment)));
});

test('an answer without a body stays without one', async () => {
  const result = await answer(() => new Response(null, { status: 204 }));
  assert.deepEqual([result.statusCode, result.body], [204, '']);
});

test('what is left to do behind an answer is done before it leaves', async () => {
  const steps: string[] = [];
  const app = () => {
    steps.push('answered');
    return new Response();
  };
  await answer(app, {}, async () => {
    await new Promise(setImmediate);
    steps.push('finished');
  });
  assert.deepEqual(steps, ['answered', 'finished']);
});

test('an answer is not held up for longer than a second by what is left to do behind it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isAnswered = false;
  const answering = answer(
    () => new Response('x'),
    {},
    () => new Promise(() => {}),
  ).then((result) => {
    isAnswered = true;
    return result;
  });
  const elapse = async (ms: number) => {
    t.mock.timers.tick(ms);
    for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  };
  await elapse(0);
  await elapse(FINISH_MS_MAX - 1);
  assert.equal(isAnswered, false);
  await elapse(1);
  assert.equal(isAnswered, true);
  assert.equal((await answering).statusCode, 200);
  assert.equal(FINISH_MS_MAX, 1000);
});

test('a function does not start without its settings', () => {
  assert.throws(() => readTableNames({ ENTITIES_TABLE: 'e' }), /MESSAGES_TABLE is not set/);
  const environment = { NAMESPACE: 'n', ROOT_KEY_SECRET: 's', RECEIVE_WAIT_MS_MAX: '2s' };
  assert.throws(
    () => readHttpSettings(environment),
    /RECEIVE_WAIT_MS_MAX is not a whole number: 2s/,
  );
});

test('API Gateway calls unless a variable says that a function URL does, and an odd word stops the function', () => {
  assert.equal(readEndpoint({}), 'apiGateway');
  assert.equal(readEndpoint({ ENDPOINT: 'functionUrl' }), 'functionUrl');
  assert.throws(
    () => httpHandler({ fetch: () => new Response() }, async () => {}, { ENDPOINT: 'url' }),
    /ENDPOINT has an unknown value: url/,
  );
});

test('the tier is Standard unless a variable says another, and an odd one stops the function', () => {
  const environment = { NAMESPACE: 'n', ROOT_KEY_SECRET: 's', RECEIVE_WAIT_MS_MAX: '1' };
  assert.equal(readHttpSettings(environment).tier, 'Standard');
  assert.equal(readHttpSettings({ ...environment, TIER: 'Basic' }).tier, 'Basic');
  assert.throws(
    () => readHttpSettings({ ...environment, TIER: 'basic' }),
    /TIER has an unknown value: basic/,
  );
});

interface Sent extends Partial<APIGatewayProxyEventV2> {
  readonly method?: string;
}

/** What the app is given when API Gateway calls with this. */
async function arrive(sent: Sent): Promise<Request> {
  const arrived: Request[] = [];
  await answer((request) => {
    arrived.push(request);
    return new Response();
  }, sent);
  assert.ok(arrived[0]);
  return arrived[0];
}

/** What API Gateway is given when the app answers so. */
function answer(
  fetch: HttpApp['fetch'],
  { method = 'GET', ...sent }: Sent = {},
  finish = () => Promise.resolve(),
) {
  return httpHandler(
    { fetch },
    finish,
  )({
    rawPath: '/',
    rawQueryString: '',
    headers: {},
    isBase64Encoded: false,
    ...sent,
    requestContext: { domainName: 'b.example', http: { method } },
  } as APIGatewayProxyEventV2);
}
