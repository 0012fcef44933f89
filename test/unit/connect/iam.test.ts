import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { iamSigner } from '../../../connect/https/calls/iam.ts';
import { openHttps } from '../../../connect/https/open-https.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';

/** A deployment with IAM, whose requests are signed with AWS credentials. */

const CREDENTIALS = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' };

const FACTS = '{"kind":"queue","requiresSession":false,"maxMessageSizeInKilobytes":256}';

/** An endpoint that keeps what it was asked. */
async function startEndpoint(t: TestContext) {
  const requests: { readonly line: string; readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((incoming, answer) => {
    requests.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers });
    if (incoming.method === 'GET') answer.setHeader('Content-Type', 'application/json').end(FACTS);
    else answer.writeHead(incoming.method === 'POST' ? 201 : 200).end();
    incoming.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { requests, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('requests are signed, and their paths are in lower case, as policies have them', async (t) => {
  const { requests, endpoint } = await startEndpoint(t);
  const upstream = openHttps({ endpoint, region: 'eu-west-1', credentials: CREDENTIALS });
  const { broker, rules } = upstream.dependencies;
  await broker.send(parseEntityPath('Orders/New'), [{ body: Buffer.from('x'), properties: {} }]);
  await rules.delete('Events/Subscriptions/All', 'Gold');
  assert.deepEqual(
    requests.map(({ line }) => line),
    [
      'GET /orders/new/messages/$sender',
      'POST /orders/new/messages',
      'DELETE /events/subscriptions/all/rules/Gold',
    ],
  );
  for (const { headers } of requests) {
    assert.match(
      headers.authorization ?? '',
      /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-west-1\/execute-api\/aws4_request, /,
    );
    assert.equal(headers['x-amz-security-token'], 'session');
  }
});

test('the address of an API or a function URL tells service and region', async () => {
  for (const [host, scope] of [
    ['a1.execute-api.eu-central-1.amazonaws.com', 'eu-central-1/execute-api'],
    ['a1.lambda-url.us-east-2.on.aws', 'us-east-2/lambda'],
  ]) {
    const url = `https://${host}`;
    const sign = iamSigner(url, { credentials: CREDENTIALS });
    const headers = await sign({ method: 'GET', url: `${url}/$health`, headers: {} });
    assert.match(headers['authorization'] ?? '', new RegExp(`/${scope}/aws4_request`));
  }
});

test('only an address of a deployment is taken', () => {
  for (const endpoint of ['orders', 'http://example.com', 'https://a.b/path', 'https://a.b/?q=1']) {
    assert.throws(() => openHttps({ endpoint }), { name: 'EndpointError' });
  }
});
