import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hono } from 'hono';
import { type ErrorStyle, errorHandler } from '../../../lambdas/http/routing/error-response.ts';
import { BrokerError, entityNotFound, lockLost } from '../../../shared/domain/broker-error.ts';
import { httpDependencies } from '../../support/http-fixture.ts';

const TRACKING_ID = 'abababab-abab-4bab-abab-abababababab';

async function answer(
  error: unknown,
  {
    style = 'runtime' as ErrorStyle,
    headers = {},
    path = '/Orders/messages/head',
    method = 'POST',
  } = {},
) {
  const log: { readonly error: unknown; readonly trackingId: string | undefined }[] = [];
  const app = new Hono();
  app.onError(
    errorHandler(httpDependencies(), style, (error, trackingId) => log.push({ error, trackingId })),
  );
  app.all('*', () => {
    throw error;
  });
  const response = await app.request(path, { method, headers });
  return { status: response.status, headers: response.headers, text: await response.text(), log };
}

test('a refusal is XML with subcode, tracking id, address and time', async () => {
  const { status, headers, text } = await answer(
    new BrokerError('ArgumentError', 'Bad <b> & worse\u0001.', { subCode: '40000' }),
  );
  assert.equal(status, 400);
  assert.equal(headers.get('content-type'), 'application/xml; charset=utf-8');
  assert.equal(headers.get('x-dynabus-error'), 'ArgumentError');
  assert.equal(headers.get('x-dynabus-retryable'), 'false');
  assert.equal(
    text,
    `<Error><Code>400</Code><Detail>SubCode=40000. Bad &lt;b&gt; &amp; worse\ufffd. TrackingId:${TRACKING_ID}_G0, SystemTracker:test:Orders, Timestamp:2026-01-15T12:00:00</Detail></Error>`,
  );
});

test('the two surfaces have different statuses for a missing entity', async () => {
  const runtime = await answer(entityNotFound('q'));
  assert.equal(runtime.status, 410);
  // No subcode: it begins with 404 and would contradict the status.
  assert.doesNotMatch(runtime.text, /SubCode/);
  const management = await answer(entityNotFound('q'), { style: 'management' });
  assert.equal(management.status, 404);
  assert.match(management.text, /SubCode=40400\. The messaging entity 'q' could not be found\./);
});

test('the code determines status and headers', async () => {
  const rows: readonly [BrokerError, number, string, string | null][] = [
    [lockLost(), 404, 'x-dynabus-retryable', 'false'],
    [new BrokerError('ServiceBusy', 'Busy.'), 503, 'retry-after', '1'],
    [new BrokerError('ServiceBusy', 'Busy.'), 503, 'x-dynabus-retryable', 'true'],
    [new BrokerError('MessageSizeExceeded', 'Big.'), 403, 'retry-after', null],
    [new BrokerError('SessionLockLost', 'Gone.'), 410, 'x-dynabus-error', 'SessionLockLost'],
    [
      new BrokerError('Unauthenticated', 'MissingToken: None.', { subCode: '40102' }),
      401,
      'www-authenticate',
      'SharedAccessSignature',
    ],
  ];
  for (const [error, status, header, value] of rows) {
    const response = await answer(error);
    assert.deepEqual([response.status, response.headers.get(header)], [status, value]);
  }
});

test('a 401 begins with the bare subcode, as clients expect it', async () => {
  const { text } = await answer(
    new BrokerError('Unauthenticated', 'MissingToken: None.', { subCode: '40102' }),
  );
  assert.match(text, /<Detail>40102: MissingToken: None\. TrackingId:/);
});

test('errors are JSON for clients that prefer it and for operations in JSON', async () => {
  const rows: readonly [Record<string, string>, string, boolean][] = [
    [{}, '/q/messages/head', false],
    [{ accept: '*/*' }, '/q/messages/head', false],
    [{ accept: 'application/json' }, '/q/messages/head', true],
    [{ accept: 'application/json, text/plain, */*' }, '/q/messages', true],
    [{ accept: 'application/xml, application/json;q=0.5' }, '/q/messages', false],
    [{ accept: 'application/xml, application/json' }, '/q/messages', false],
    [{ accept: 'application/json, application/xml' }, '/q/messages', true],
    [{ accept: 'application/*' }, '/q/messages', false],
    [{ accept: 'application/json;q=0' }, '/q/messages', false],
    [{ 'content-type': 'application/json' }, '/q/messages', false],
    [{ 'content-type': 'application/json' }, '/q/messages/head', true],
    [{}, '/q/messages/head?maxMessages=3', true],
    [{}, '/q/messages/$settle', true],
    [{}, '/q/$deadletterqueue/messages/$renew', true],
    [{}, '/q/$deadletterqueue', false],
  ];
  for (const [headers, path, isJson] of rows) {
    const response = await answer(lockLost(), { headers, path });
    const type = response.headers.get('content-type');
    assert.equal(type === 'application/json', isJson, `${path} ${JSON.stringify(headers)}`);
  }
  const { text } = await answer(new BrokerError('ServiceBusy', 'Busy.'), {
    headers: { accept: 'application/json' },
  });
  assert.deepEqual(JSON.parse(text), {
    error: {
      code: 'ServiceBusy',
      message: 'Busy.',
      trackingId: TRACKING_ID,
      retryable: true,
      timestamp: '2026-01-15T12:00:00',
    },
  });
});

test('errors of management have the form that the answer would have', async () => {
  const json = { 'content-type': 'application/json' };
  const rows: readonly [Record<string, string>, method: string, path: string, boolean][] = [
    [{}, 'GET', '/q', false],
    [{}, 'GET', '/$entities', true],
    [json, 'PUT', '/q', true],
    [json, 'DELETE', '/q', false],
    [{ ...json, accept: 'application/*' }, 'PUT', '/q', true],
    [{ accept: 'application/*' }, 'GET', '/q', false],
    // What axios and others send on their own: the answer would be ATOM, but JSON is wanted.
    [{ accept: 'application/json, text/plain, */*' }, 'GET', '/q', true],
    [{ ...json, accept: 'application/xml' }, 'PUT', '/q', false],
    ...['application/xml, application/json', 'application/json, application/xml'].flatMap(
      (accept): readonly [Record<string, string>, string, string, boolean][] => [
        [{ accept }, 'GET', '/q', false],
        [{ ...json, accept }, 'PUT', '/q', true],
      ],
    ),
  ];
  for (const [headers, method, path, isJson] of rows) {
    const error = entityNotFound('q');
    const response = await answer(error, { style: 'management', headers, method, path });
    const type = response.headers.get('content-type');
    assert.equal(type === 'application/json', isJson, `${method} ${JSON.stringify(headers)}`);
  }
});

test('limits of topics keep the subcodes that clients look for under a 403', async () => {
  const error = new BrokerError('QuotaExceeded', 'Too many.', { subCode: '40503' });
  const { status, text } = await answer(error, { style: 'management' });
  assert.equal(status, 403);
  assert.match(text, /<Code>403<\/Code><Detail>SubCode=40503\. Too many\. TrackingId:/);
});

test('a fault of the service is logged with its details, which the client does not get', async () => {
  const fault = new Error('secret table name', { cause: new Error('deeper') });
  const { status, text, log } = await answer(fault);
  assert.equal(status, 500);
  assert.doesNotMatch(text, /secret/);
  assert.match(text, new RegExp(`SubCode=50000\\. .*TrackingId:${TRACKING_ID}`));
  assert.deepEqual(log, [{ error: fault, trackingId: TRACKING_ID }]);
});
