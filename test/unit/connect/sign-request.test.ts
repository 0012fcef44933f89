import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import { createSigner, type RequestToSign } from '../../../connect/aws/sign-request.ts';

const CREDENTIALS = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' };

const hash = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');
const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** The signature of a request, calculated from the description of Signature Version 4. */
function expected(
  { method, body = '' }: RequestToSign,
  canonicalUri: string,
  headers: Readonly<Record<string, string>>,
): string {
  const { authorization = '' } = headers;
  const [, scope = '', signed = ''] =
    /^AWS4-HMAC-SHA256 Credential=AKID\/([^,]+), SignedHeaders=([^,]+), /.exec(authorization) ?? [];
  const lines = signed.split(';').map((name) => `${name}:${headers[name]}\n`);
  const canonical = [method, canonicalUri, lines.join(''), signed, hash(body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash(canonical)].join('\n');
  return mac(scope.split('/').reduce<string | Buffer>(mac, 'AWS4secret'), text).toString('hex');
}

/** Requests with path and query as the description wants them: encoded once more, and in order. */
const REQUESTS: Readonly<Record<string, readonly [RequestToSign, canonical: string]>> = {
  'a body of bytes, a port and a path with signs': [
    {
      method: 'POST',
      url: 'https://a1.execute-api.eu-west-1.amazonaws.com:8443/prod/a%20b/$purge',
      headers: { 'content-type': 'application/json', 'x-own': 'value' },
      body: Uint8Array.of(1, 2, 255),
    },
    '/prod/a%2520b/%24purge\n',
  ],
  'a query whose names repeat and are not in order': [
    { method: 'GET', url: 'https://a1.lambda-url.eu-west-1.on.aws/q?z=1&a=b%2Fc&z=0&empty=' },
    '/q\na=b%2Fc&empty=&z=0&z=1',
  ],
};

for (const [what, [request, canonical]] of Object.entries(REQUESTS)) {
  test(`a request with ${what} has the signature of the description`, async () => {
    const signer = createSigner({
      service: 'execute-api',
      region: 'eu-west-1',
      credentials: CREDENTIALS,
    });
    const headers = await signer.sign(request);
    assert.equal(headers['x-amz-security-token'], 'session');
    assert.equal(headers['host'], undefined);
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      assert.equal(headers[name], value);
    }
    assert.match(headers['authorization'] ?? '', /\/eu-west-1\/execute-api\/aws4_request, /);
    const { host } = new URL(request.url);
    const signature = expected(request, canonical, { ...headers, host });
    assert.ok(headers['authorization']?.endsWith(`Signature=${signature}`), signature);
  });
}

test('credentials are got once for many requests, and once more if they are about to expire', async () => {
  let got = 0;
  const credentials = async () => {
    got++;
    // The first ones have a minute left, the second ones an hour.
    const expiration = new Date(Date.now() + (got === 1 ? 60_000 : 3_600_000));
    return { ...CREDENTIALS, accessKeyId: `AKID${got}`, expiration };
  };
  const signer = createSigner({ service: 'lambda', region: 'eu-west-1', credentials });
  assert.equal(got, 0);
  const keys: unknown[] = [];
  for (let round = 0; round < 3; round++) {
    const { authorization } = await signer.sign({ method: 'GET', url: 'https://example.com/' });
    keys.push(/Credential=(\w+)/.exec(authorization ?? '')?.[1]);
  }
  assert.deepEqual(keys, ['AKID2', 'AKID2', 'AKID2']);
  assert.equal(got, 2);
});
