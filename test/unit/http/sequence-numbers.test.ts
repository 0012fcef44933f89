import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeferredOptions } from '../../../shared/broker/broker.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import { startApp } from '../../support/http-fixture.ts';

const message = (text: string): { readonly message: Message } => ({
  message: { messageId: text, body: new TextEncoder().encode(text), properties: {} },
});

interface WireMessage {
  readonly Body: string;
  readonly BrokerProperties: Readonly<Record<string, unknown>>;
}

function startDeferred() {
  const started = startApp();
  for (const text of ['a', 'b', 'c']) {
    started.broker.put('q', { ...message(text), state: 'Deferred' });
  }
  return started;
}

test('$deferred locks the messages with the given sequence numbers, and responds like a receive', async () => {
  const { call, broker } = startDeferred();
  const response = await call('POST', '/q/messages/$deferred', {
    body: '{"sequenceNumbers":[3,1]}',
  });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('content-type'), 'application/vnd.microsoft.servicebus.json');
  const messages = (await response.json()) as WireMessage[];
  assert.deepEqual(
    messages.map(({ Body, BrokerProperties: { State, DeliveryCount } }) => [
      Body,
      State,
      DeliveryCount,
    ]),
    [
      ['c', 'Deferred', 1],
      ['a', 'Deferred', 1],
    ],
  );
  const { LockToken } = messages[0]?.BrokerProperties ?? {};
  assert.equal((await call('DELETE', `/q/messages/3/${LockToken}`)).status, 200);
  const [[called, asked] = []] = broker.calls;
  const { payloads, answer, ...options } = asked as DeferredOptions;
  assert.ok(payloads, 'large messages count');
  assert.equal(answer?.form, 'batch');
  assert.ok(answer.bytes > 0, 'what the answer prints is bounded');
  assert.equal(called, 'receiveDeferred');
  assert.deepEqual(options, { mode: 'peekLock', sequenceNumbers: [3n, 1n] });
});

test('$deferred can remove the messages that it returns', async () => {
  const { call, broker } = startDeferred();
  const response = await call('POST', '/q/messages/$deferred', {
    body: '{"sequenceNumbers":[2],"mode":"receiveAndDelete"}',
  });
  assert.equal(response.status, 200);
  const text = await response.text();
  assert.match(text, /"Body":"b"/);
  assert.doesNotMatch(text, /Lock/);
  assert.equal(broker.waiting('q').length, 2);
});

test('$deferred with the number of a message that is not deferred is 404, and returns nothing', async () => {
  const { call, broker } = startDeferred();
  broker.put('q', message('active'));
  const response = await call('POST', '/q/messages/$deferred', {
    body: '{"sequenceNumbers":[1,4]}',
  });
  assert.equal(response.status, 404);
  assert.equal(response.headers.get('x-dynabus-error'), 'MessageNotFound');
  assert.equal(broker.waiting('q').length, 4);
});

for (const kind of ['breakLock', 'reactivate', 'delete'] as const) {
  test(`$${kind} returns an outcome for each sequence number, in order and with all digits`, async () => {
    const { call, broker } = startDeferred();
    const response = await call('POST', `/q/messages/$${kind}`, {
      body: '{"sequenceNumbers":[9007199254740993,2]}',
    });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(
      await response.text(),
      '{"outcomes":[{"sequenceNumber":9007199254740993,"done":false},{"sequenceNumber":2,"done":true}]}',
    );
    assert.deepEqual(broker.calls, [['operate', { kind }, [9_007_199_254_740_993n, 2n]]]);
  });
}

test('$deadLetter sets a reason, a description and properties', async () => {
  const { call, broker } = startDeferred();
  const response = await call('POST', '/q/messages/$deadLetter', {
    body: JSON.stringify({
      sequenceNumbers: [1],
      deadLetterReason: 'r',
      deadLetterErrorDescription: 'd',
      properties: { Seen: true },
    }),
  });
  assert.deepEqual(await response.json(), { outcomes: [{ sequenceNumber: 1, done: true }] });
  const action = {
    kind: 'deadLetter',
    reason: 'r',
    description: 'd',
    properties: { Seen: { type: 'boolean', value: true } },
  };
  assert.deepEqual(broker.calls, [['operate', action, [1n]]]);
});

test('$deadLetter needs no reason', async () => {
  const { call, broker } = startDeferred();
  await call('POST', '/q/messages/$deadLetter', { body: '{"sequenceNumbers":[1]}' });
  assert.deepEqual(broker.calls, [['operate', { kind: 'deadLetter' }, [1n]]]);
});

const ROUTES = [
  '$cancelScheduled',
  '$deferred',
  '$breakLock',
  '$reactivate',
  '$deadLetter',
  '$delete',
];

/** The text after `"sequenceNumbers":`, and its refusal. */
const BAD_NUMBERS: readonly [string, RegExp][] = [
  ['1', /sequenceNumbers must be an array/],
  ['null', /sequenceNumbers must be an array/],
  ['"1"', /sequenceNumbers must be an array/],
  ['{"0":1}', /sequenceNumbers must be an array/],
  ['[]', /sequenceNumbers is too small or short; the least is 1/],
  [`[${Array.from({ length: 101 }, (_, i) => i)}]`, /sequenceNumbers is .*; the limit is 100/],
  ['[7,8,7]', /sequenceNumbers names a message twice/],
  ['[9007199254740993,9007199254740993]', /sequenceNumbers names a message twice/],
  ['[1,"2"]', /sequenceNumbers\[1\] must be a whole number from 0 to 9223372036854775807/],
  ['[null]', /sequenceNumbers\[0\] must be a whole number/],
  ['[true]', /sequenceNumbers\[0\] must be a whole number/],
  ['[[1]]', /sequenceNumbers\[0\] must be a whole number/],
  ['[-1]', /sequenceNumbers\[0\] must be a whole number/],
  ['[1.5]', /sequenceNumbers\[0\] must be a whole number/],
  ['[1.0]', /sequenceNumbers\[0\] must be a whole number/],
  ['[1e3]', /sequenceNumbers\[0\] must be a whole number/],
  ['[9223372036854775808]', /sequenceNumbers\[0\] must be a whole number/],
  ['[-9007199254740993]', /sequenceNumbers\[0\] must be a whole number/],
  [`[${'9'.repeat(500)}]`, /sequenceNumbers\[0\] must be a whole number/],
  ['[1],"more":1', /The body may not have 'more'/],
];
const BAD_BODIES: readonly [string, RegExp][] = [
  ['', /The body is not valid JSON/],
  ['{', /The body is not valid JSON/],
  ['[1]', /The body must be an object/],
  ['7', /The body must be an object/],
  ...BAD_NUMBERS.map(([json, text]): [string, RegExp] => [`{"sequenceNumbers":${json}}`, text]),
];

for (const route of ROUTES) {
  test(`${route} refuses everything that is not a list of sequence numbers`, async () => {
    for (const [body, sentence] of BAD_BODIES) {
      const { call, broker } = startApp();
      const response = await call('POST', `/q/messages/${route}`, { body });
      assert.equal(response.status, 400, body);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.equal(error.code, 'ArgumentError');
      assert.match(error.message, sentence);
      assert.deepEqual(broker.calls, []);
    }
  });

  test(`${route} of an entity that does not exist is 410`, async () => {
    const { call } = startApp();
    const body = '{"sequenceNumbers":[1]}';
    assert.equal((await call('POST', `/nobody/messages/${route}`, { body })).status, 410);
  });

  test(`${route} accepts a hundred sequence numbers`, async () => {
    const { call, broker } = startApp();
    const sequenceNumbers = Array.from({ length: 100 }, (_, i) => i);
    await call('POST', `/q/messages/${route}`, { body: JSON.stringify({ sequenceNumbers }) });
    assert.equal(broker.calls.length, 1);
  });
}

const BAD_FIELDS: readonly [string, object, RegExp][] = [
  ['$deferred', { mode: 'peek' }, /mode must be peekLock or receiveAndDelete/],
  ['$deferred', { mode: null }, /mode must be peekLock or receiveAndDelete/],
  ['$deadLetter', { deadLetterReason: 7 }, /deadLetterReason must be a string/],
  ['$deadLetter', { deadLetterReason: 'x'.repeat(4097) }, /deadLetterReason .* limit is 4096/],
  ['$deadLetter', { deadLetterErrorDescription: [] }, /ErrorDescription must be a string/],
  ['$deadLetter', { properties: 7 }, /properties must be a JSON object/],
  ['$deadLetter', { properties: { x: [] } }, /The property 'x' is a list/],
  ['$deadLetter', { reason: 'x' }, /The body may not have 'reason'/],
];
for (const [route, fields, sentence] of BAD_FIELDS) {
  test(`${route} with ${JSON.stringify(fields).slice(0, 60)} is 400`, async () => {
    const { call, broker } = startApp();
    const body = JSON.stringify({ sequenceNumbers: [1], ...fields });
    const response = await call('POST', `/q/messages/${route}`, { body });
    assert.equal(response.status, 400);
    assert.match(await response.text(), sentence);
    assert.deepEqual(broker.calls, []);
  });
}
