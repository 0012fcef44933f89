import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

async function startQueue(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  return broker;
}

for (const type of [
  'application/json',
  'text/plain; charset=iso-8859-1',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/vnd.microsoft.servicebus.jsonx',
]) {
  test(`the Content-Type ${type} is returned unchanged`, async (t) => {
    const broker = await startQueue(t);
    const headers = { 'Content-Type': type };
    expectStatus(await broker.send('q', '[{"Body":"a=1&b"}]', undefined, headers), 201);
    const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
    assert.equal(answer.headers.get('content-type'), type);
    assert.equal(answer.text, '[{"Body":"a=1&b"}]');
  });
}

/** Header as sent, header as received where it differs, and the same in a batch. */
const PROPERTIES: readonly (readonly [string, string, string, unknown])[] = [
  ['Priority', '"High"', '"High"', 'High'],
  ['Customer', '"12345,ABC"', '"12345,ABC"', '12345,ABC'],
  ['Quantity', '7', '7', 7],
  ['Negative', '-2147483648', '-2147483648', -2147483648],
  ['Number-In-Quotes', '"7"', '"7"', '7'],
  ['Urgent', 'true', 'true', true],
  ['Calm', 'false', 'false', false],
  ['Bool-In-Quotes', '"true"', '"true"', 'true'],
  ['Nothing', 'null', 'null', null],
  ['Price', '12.5', '12.5', 12.5],
  ['Long', '9007199254740993', '9007199254740993', { $long: '9007199254740993' }],
  ['Empty', '""', '""', ''],
  ['Quotes', '"say \\"hi\\""', '"say \\"hi\\""', 'say "hi"'],
  ['Backslash', '"C:\\\\temp"', '"C:\\\\temp"', 'C:\\temp'],
  ['Unquoted', 'plain text', '"plain text"', 'plain text'],
  ['Escaped', '"Gr\\u00f6\\u00dfe"', '"Gr\\u00f6\\u00dfe"', 'Größe'],
  ['Utf8', Buffer.from('"Größe €"').toString('latin1'), '"Gr\\u00f6\\u00dfe \\u20ac"', 'Größe €'],
  [
    'Due',
    '"Sun, 06 Nov 2033 08:49:37 GMT"',
    '"Sun, 06 Nov 2033 08:49:37 GMT"',
    { $date: '2033-11-06T08:49:37.000Z' },
  ],
];

test('#148 property headers are returned in the same spelling, and typed in a batch', async (t) => {
  const broker = await startQueue(t);
  const headers = Object.fromEntries(PROPERTIES.map(([name, sent]) => [name, sent]));
  expectStatus(await broker.send('q', 'x', undefined, headers), 201);
  const locked = await broker.request('POST', 'q/messages/head?timeout=0');
  for (const [name, , received] of PROPERTIES) {
    assert.equal(locked.headers.get(name), received, name);
  }
  await broker.request('PUT', locked.headers.get('location') ?? '');
  const [message] = await broker.receiveAndDeleteMany('q', 1);
  // And nothing else: headers that HTTP clients add are not properties.
  assert.deepEqual(
    message?.properties,
    Object.fromEntries(PROPERTIES.map(([name, , , json]) => [name.toLowerCase(), json])),
  );
});

test('properties of a batch keep their case, their types and their order', async (t) => {
  const broker = await startQueue(t);
  const UserProperties = {
    zeta: 'text',
    Alpha: 1,
    'with blank': { $guid: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547' },
    double: 1.5,
    long: { $long: '-9223372036854775808' },
    bytes: { $bytes: 'AAEC' },
    float: { $float: 0.5 },
    span: { $timeSpan: '-600000000' },
    nothing: null,
    __proto: true,
  };
  expectStatus(await broker.sendBatch('q', [{ Body: 'x', UserProperties }]), 201);
  const [message] = await broker.receiveAndDeleteMany('q', 1);
  assert.deepEqual(message?.properties, UserProperties);
  assert.deepEqual(Object.keys(message?.properties ?? {}), Object.keys(UserProperties));
});

test('message headers of a batch are ignored', async (t) => {
  const broker = await startQueue(t);
  const answer = await broker.request('POST', 'q/messages', {
    body: '[{"Body":"x"}]',
    headers: {
      'Content-Type': 'application/vnd.microsoft.servicebus.json; charset=utf-8',
      BrokerProperties: '{"Label":"not mine"}',
      Priority: '"High"',
    },
  });
  expectStatus(answer, 201);
  const [message] = await broker.receiveAndDeleteMany('q', 1);
  assert.deepEqual([message?.broker['Label'], message?.properties], [undefined, {}]);
});
