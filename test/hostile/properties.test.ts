import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  printPropertyHeaders,
  readPropertyHeaders,
} from '../../lambdas/http/format/property-headers.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import type { PropertyValue } from '../../shared/domain/messages/property-value.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';
import { ROOT_KEY, startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';

/** Names that every object has already, and others that are easily mishandled. */
const ODD_NAMES = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', '0', '10'],
  ...['__defineGetter__', 'length', 'then', 'toJSON', 'x.y', '$long', 'a b', 'ä', '', '\u0000'],
];

/** Headers that a browser or a proxy acts on. */
const ACTING_NAMES = [
  ...['Refresh', 'Clear-Site-Data', 'Link', 'Status', 'Set-Cookie', 'Set-Cookie2', 'Location'],
  ...['Content-Security-Policy', 'Content-Disposition', 'Access-Control-Allow-Origin', 'Server'],
  ...[
    'Strict-Transport-Security',
    'Transfer-Encoding',
    'Connection',
    'WWW-Authenticate',
    'Alt-Svc',
  ],
  ...['X-Accel-Redirect', 'X-Sendfile', 'X-Lighttpd-Send-File', 'X-LiteSpeed-Location', 'Via'],
  ...['X-Reproxy-URL', 'Cache-Control', 'Expires', 'Pragma', 'Age', 'NEL', 'Report-To', 'Warning'],
  ...['Reporting-Endpoints', 'Service-Worker-Allowed', 'SourceMap', 'X-SourceMap', 'Date', 'ETag'],
  ...['Cross-Origin-Resource-Policy', 'Permissions-Policy', 'Referrer-Policy', 'X-Frame-Options'],
  ...['Timing-Allow-Origin', 'Public-Key-Pins', 'Surrogate-Control', 'CDN-Cache-Control', 'Vary'],
  ...['Speculation-Rules', 'Sec-Session-Registration', 'Origin-Trial', 'Upgrade', 'Trailer'],
];

/** One message in headers, with its properties from headers and from BrokerProperties. */
async function receiveInHeaders(broker: TestBroker, queue: string) {
  const answer = await broker.request('DELETE', `${queue}/messages/head`);
  assert.equal(answer.status, 200);
  const { UserProperties } = JSON.parse(answer.headers.get('brokerproperties') ?? '{}') as {
    readonly UserProperties?: Readonly<Record<string, unknown>>;
  };
  return { headers: answer.headers, withheld: UserProperties ?? {} };
}

test('row 23: a property called __proto__ comes back in headers and in JSON', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  for (const receive of ['headers', 'JSON'] as const) {
    // Clients keep headers in plain objects, which lose this name.
    const sent = await sendBytes(broker, { ['__proto__']: '"kept"', constructor: '"too"' });
    assert.equal(sent, 201);
    if (receive === 'headers') {
      const { headers, withheld } = await receiveInHeaders(broker, 'q');
      assert.deepEqual(Object.entries(withheld), [['__proto__', 'kept']]);
      assert.equal(headers.get('constructor'), '"too"');
    } else {
      const { text } = await broker.request('DELETE', 'q/messages/head?maxMessages=1');
      assert.match(text, /"__proto__":"kept"/);
      assert.match(text, /"constructor":"too"/);
    }
  }
});

/** Sends a message to `q` with these header fields, and returns the status. */
async function sendBytes(
  { api }: TestBroker,
  fields: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  const { port, host } = new URL(api.url);
  const Authorization = createSasToken({
    audience: api.url,
    keyName: 'RootManageSharedAccessKey',
    key: ROOT_KEY,
    expiresAt: Date.UTC(9999, 0, 1),
  });
  const request = requestText('POST /q/messages', { Host: host, Authorization, ...fields }, 'x');
  return (await rawHttp(Number(port), [request])).statuses[0];
}

test('row 23: properties of any name are received as sent, in headers or JSON', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  const name = fc.oneof(
    fc.constantFrom(...ODD_NAMES, ...ACTING_NAMES),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
  const properties = fc.array(fc.tuple(name, fc.integer({ min: 0, max: 9 })), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(properties, fc.boolean(), async (entries, inHeaders) => {
      const sent = new Map(entries);
      const json = JSON.stringify(Object.fromEntries(sent));
      await broker.request('POST', 'q/messages', {
        body: `[{"Body":"x","UserProperties":${json}}]`,
        headers: { 'Content-Type': 'application/vnd.microsoft.servicebus.json' },
      });
      assert.deepEqual(await (inHeaders ? fromHeaders : fromJson)(broker, sent), sorted(sent));
    }),
    { numRuns: 40 },
  );
});

const sorted = (properties: Iterable<readonly [string, unknown]>) =>
  [...properties].sort(([a], [b]) => (a < b ? -1 : 1));

async function fromJson(broker: TestBroker) {
  const answer = await broker.request('DELETE', 'q/messages/head?maxMessages=1');
  const [message] = answer.json<readonly { readonly UserProperties: object }[]>();
  return sorted(Object.entries(message?.UserProperties ?? {}));
}

/** Header names are case-insensitive: of names that differ only in case, one becomes a header. */
async function fromHeaders(broker: TestBroker, sent: ReadonlyMap<string, number>) {
  const { headers, withheld } = await receiveInHeaders(broker, 'q');
  const inHeaders = [...sent.keys()].filter((name) => !Object.hasOwn(withheld, name));
  return sorted([
    ...Object.entries(withheld),
    ...inHeaders.map((name) => [name, Number(headers.get(name))] as const),
  ]);
}

test('row 23: a property never becomes a header that a browser or a proxy acts on', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  const properties = Object.fromEntries(ACTING_NAMES.map((name) => [name, 'hostile']));
  await broker.sendBatch('q', [{ Body: 'x', UserProperties: properties }]);
  const { headers, withheld } = await receiveInHeaders(broker, 'q');
  assert.deepEqual(withheld, properties);
  for (const [name, value] of headers) {
    if (name !== 'brokerproperties') assert.doesNotMatch(value, /hostile/, name);
  }
});

test('row 23: such a header of a sender is kept as a property', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  await broker.send('q', 'x', {}, { Refresh: '"0; url=//evil"', Link: '"<x>"', Status: '404' });
  const { headers, withheld } = await receiveInHeaders(broker, 'q');
  assert.deepEqual(withheld, { refresh: '0; url=//evil', link: '<x>', status: 404 });
  assert.equal(headers.get('refresh'), null);
});

test('row 23: properties with ordinary names are sent as headers', () => {
  const names = ['Priority', 'Customer', 'Link-Id', 'Statuses', 'Refreshed', 'X-Tenant', 'X-Trace'];
  const value: PropertyValue = { type: 'string', value: 'v' };
  const sent = Object.fromEntries(names.map((name) => [name, value]));
  const { headers, others } = printPropertyHeaders(sent);
  assert.deepEqual(Object.keys(others), []);
  const read = readPropertyHeaders(new Headers(headers.map(([name, value]) => [name, value])));
  assert.deepEqual(Object.keys(read).sort(), names.map((name) => name.toLowerCase()).sort());
});

/** Half of a surrogate pair, as JSON can escape it. */
const HALF = '\\ud800';

test('row 23: half of a surrogate pair in any name or id is refused', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  const bodies = [
    `[{"Body":"x","UserProperties":{"a${HALF}":1}}]`,
    `[{"Body":"x","UserProperties":{"a":"${HALF}"}}]`,
    ...['MessageId', 'SessionId', 'PartitionKey', 'Label', 'CorrelationId', 'ReplyTo', 'To'].map(
      (name) => `[{"Body":"x","BrokerProperties":{"${name}":"${HALF}"}}]`,
    ),
  ];
  for (const body of bodies) {
    const headers = { 'Content-Type': 'application/vnd.microsoft.servicebus.json' };
    const { status, text } = await broker.request('POST', 'q/messages', { body, headers });
    assert.equal(status, 400, body);
    assert.match(text, /half of a surrogate pair/);
  }
  assert.equal(await broker.peekLock('q'), undefined);
});

test('row 23: half of a surrogate pair is refused in a settlement and in a transaction', async (t) => {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  await broker.send('q', 'x');
  const held = await broker.request('POST', 'q/messages/head');
  const { LockToken: lockToken } = JSON.parse(held.headers.get('brokerproperties') ?? '{}');
  const settlements = [
    `"outcome":"deadLetter","deadLetterReason":"${HALF}"`,
    `"outcome":"deadLetter","deadLetterErrorDescription":"${HALF}"`,
    `"outcome":"abandon","properties":{"${HALF}":1}`,
  ];
  for (const settlement of settlements) {
    const body = `{"settlements":[{"lockToken":"${lockToken}",${settlement}}]}`;
    const { status, text } = await broker.request('POST', 'q/messages/$settle', { body });
    assert.equal(status, 400, settlement);
    assert.match(text, /half of a surrogate pair/);
  }
  const operations = [
    `{"send":"q${HALF}","messages":[{"Body":"x"}]}`,
    `{"send":"q","messages":[{"Body":"x","UserProperties":{"${HALF}":1}}]}`,
    `{"complete":"q","sessionId":"${HALF}","lockToken":"${lockToken}"}`,
  ];
  for (const operation of operations) {
    const body = `{"operations":[${operation}]}`;
    const { status, text } = await broker.request('POST', '$transactions', { body });
    assert.equal(status, 400, operation);
    assert.match(text, /half of a surrogate pair|is not valid: the entity segment/);
  }
});
