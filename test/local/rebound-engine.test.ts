import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEngine } from '../../local/engine/engine.ts';
import { engineAddress } from '../../local/engine/engine-address.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';

/** A web page whose host name resolves to 127.0.0.1 (DNS rebinding) can send any request to the engine. */

// This test starts its own engine.
process.env['DYNAMODB_ENDPOINT'] = '';

const CREATE_TABLE = JSON.stringify({
  TableName: 'planted',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  BillingMode: 'PAY_PER_REQUEST',
});

test('row 14: DynamoDB Local refuses requests of pages with a rebound name or another origin', async (t) => {
  const engine = await startEngine({ kind: 'dynamodb-local' });
  t.after(() => engine.stop());
  const { url, accessKey } = engineAddress(engine.endpoint);
  const port = Number(new URL(url).port);
  const ask = (host: string, line = 'POST /', more: Readonly<Record<string, string>> = {}) =>
    rawHttp(port, [
      requestText(
        line,
        {
          Host: host,
          'Content-Type': 'application/x-amz-json-1.0',
          'X-Amz-Target': 'DynamoDB_20120810.CreateTable',
          'X-Amz-Date': '20260101T000000Z',
          Authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=none`,
          ...more,
        },
        CREATE_TABLE,
      ),
    ]);

  for (const host of [
    `evil.example:${port}`,
    'evil.example',
    'localhost.evil.example',
    `127.0.0.1.evil.example:${port}`,
    '0.0.0.0',
    '[::1]',
  ]) {
    assert.deepEqual((await ask(host)).statuses, [404], host);
    assert.deepEqual((await ask(host, 'POST /shell/')).statuses, [404], host);
  }
  // A browser sends a preflight request before it sends such header fields to another origin.
  const preflight = await ask(`127.0.0.1:${port}`, 'OPTIONS /', {
    Origin: 'http://evil.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'x-amz-target',
  });
  assert.doesNotMatch(preflight.text, /access-control-allow-origin/i);

  // No table was created so far: the engine refuses a second table of the same name.
  assert.deepEqual((await ask(`localhost:${port}`)).statuses, [200]);
  assert.deepEqual((await ask(`127.0.0.1:${port}`)).statuses, [400]);
});
