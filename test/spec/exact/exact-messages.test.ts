import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  EXACT_TYPE,
  readExact,
  requestExact,
  sendExact,
  tokensOf,
} from '../../support/exact-messages.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

async function startQueue(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', settings), 201);
  return broker;
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Sections as senders encode them, by hand. Lists and maps have sizes of four bytes, as the service encodes them. */
const SECTIONS = {
  'an int as value': '005377 5407',
  'a float as value': '005377 72 3fc00000',
  'a map as value': '005377 d1 00000008 00000002 a1016b 40',
  'an array as value': '005377 f0 0000000d 00000002 71 00000001 00000002',
  'a sequence': '005376 d0 00000008 00000002 5401 5402',
  'two data sections': '005375 a00161 005375 a00162',
  'a described value as property': '005374 d1 0000000d 00000002 a10170 00a30178 5407 005375a00161',
  'a decimal and a symbol as properties':
    '005374 d1 00000014 00000004 a10161 7422500001 a10162 a30373796d 005375a00161',
  'a footer': '005375 a00161 005378 d1 00000009 00000002 a30166 5401',
} as const;

for (const [what, sections] of Object.entries(SECTIONS)) {
  test(`H22 a message with ${what} is received exactly as it was sent`, async (t) => {
    const broker = await startQueue(t);
    expectStatus(await sendExact(broker, 'q/messages', [hex(sections)]), 201);
    const peeked = await requestExact(broker, 'GET', 'q/messages');
    expectStatus(peeked, 200);
    const locked = await requestExact(broker, 'POST', 'q/messages/head?timeout=0');
    expectStatus(locked, 201);
    for (const { bytes } of [peeked, locked]) {
      assert.ok(Buffer.from(bytes).includes(hex(sections)), Buffer.from(bytes).toString('hex'));
    }
    const [message] = readExact(locked).messages;
    assert.ok(message !== undefined && 'lockToken' in message);
    assert.equal(message.sequenceNumber, 1n);
    const [seen] = readExact(peeked).messages;
    assert.ok(seen !== undefined && !('lockToken' in seen));
    assert.deepEqual(seen.message, message.message);
  });
}

test('annotations, and a header that no other protocol has, are received as they were sent', async (t) => {
  const broker = await startQueue(t);
  const annotation = 'a305 782d6f776e 41';
  const sent = hex(
    `005370 d0 00000007 00000002 41 5007 005372 d1 0000000c 00000002 ${annotation} 005375a00161`,
  );
  expectStatus(await sendExact(broker, 'q/messages', [sent]), 201);
  const answer = await requestExact(broker, 'POST', 'q/messages/head?timeout=0');
  assert.ok(Buffer.from(answer.bytes).includes(hex(annotation)));
  assert.ok(Buffer.from(answer.bytes).includes(hex('415007')));
});

test('one message is the answer without maxMessages, and up to maxMessages are with it', async (t) => {
  const broker = await startQueue(t);
  const messages = ['a', 'b', 'c', 'd'].map((id) => message(id));
  expectStatus(await sendExact(broker, 'q/messages', messages), 201);
  const first = await requestExact(broker, 'POST', 'q/messages/head?timeout=0');
  expectStatus(first, 201);
  assert.equal(first.headers.get('vary'), 'Accept');
  assert.deepEqual(idsOf(first), ['a']);
  const more = await requestExact(broker, 'DELETE', 'q/messages/head?timeout=0&maxMessages=2');
  expectStatus(more, 200);
  assert.deepEqual(idsOf(more), ['b', 'c']);
  assert.deepEqual(tokensOf(readExact(more)), ['', '']);
  const last = await requestExact(broker, 'POST', 'q/messages/head?timeout=0&maxMessages=9');
  assert.deepEqual(idsOf(last), ['d']);
  const none = await requestExact(broker, 'POST', 'q/messages/head?timeout=0');
  assert.deepEqual([none.status, none.bytes.length], [204, 0]);
});

test('a peek without messages is an empty body', async (t) => {
  const broker = await startQueue(t);
  const answer = await requestExact(broker, 'GET', 'q/messages');
  assert.deepEqual([answer.status, answer.bytes.length], [200, 0]);
  assert.deepEqual(readExact(answer), { messages: [], texts: {} });
});

for (const accept of ['*/*', 'application/*', `${EXACT_TYPE};q=0`, `${EXACT_TYPE}.json`]) {
  test(`Accept: ${accept} does not ask for the exact format`, async (t) => {
    const broker = await startQueue(t);
    expectStatus(await broker.send('q', 'text'), 201);
    const headers = { Accept: accept };
    const one = await broker.request('POST', 'q/messages/head?timeout=0', { headers });
    assert.equal(one.text, 'text');
    const peeked = await broker.request('GET', 'q/messages', { headers });
    assert.equal(peeked.json<{ Body: string }[]>()[0]?.Body, 'text');
    assert.equal(peeked.headers.get('vary'), 'Accept');
  });
}

for (const type of [`${EXACT_TYPE}; charset=binary`, EXACT_TYPE.toUpperCase()]) {
  test(`H22 the content type ${type} is the exact format`, async (t) => {
    const broker = await startQueue(t);
    expectStatus(
      await sendExact(broker, 'q/messages', [message('m')], { 'Content-Type': type }),
      201,
    );
    const headers = { Accept: `text/plain, ${type}` };
    const answer = await broker.request('POST', 'q/messages/head?timeout=0', { headers });
    assert.deepEqual(idsOf(answer), ['m']);
  });
}

test('messages are scheduled in the exact format, and each needs a due time', async (t) => {
  const broker = await startQueue(t);
  const dueAt = broker.clock.now() + 60_000;
  const due = { ...message('due'), scheduledEnqueueAt: dueAt };
  const refused = await sendExact(broker, 'q/messages/$schedule', [due, message('now')]);
  expectStatus(refused, 400);
  assert.match(
    refused.json<Refusal>().error.message,
    /Message 1 of the batch: ScheduledEnqueueTimeUtc is required/,
  );
  assert.deepEqual(await broker.peek('q'), []);
  const answer = await sendExact(broker, 'q/messages/$schedule', [due, due]);
  expectStatus(answer, 201);
  assert.deepEqual(answer.json(), { sequenceNumbers: [1, 2] });
  const { messages } = readExact(await requestExact(broker, 'GET', 'q/messages'));
  assert.deepEqual(
    messages.map((one) => [one.state, one.message.scheduledEnqueueAt]),
    [
      ['Scheduled', dueAt],
      ['Scheduled', dueAt],
    ],
  );
});

test('H22 an answer after settlements has their outcomes as text beside the messages', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await sendExact(broker, 'q/messages', [message('a'), message('b')]), 201);
  const locked = readExact(await requestExact(broker, 'POST', 'q/messages/head?timeout=0'));
  const [lockToken] = tokensOf(locked);
  const unknown = '00000000-0000-0000-0000-000000000000';
  const settlements = [
    { outcome: 'complete', lockToken },
    { outcome: 'complete', lockToken: unknown },
  ];
  const next = () => requestExact(broker, 'POST', 'q/messages/head?timeout=0', { settlements });
  const answer = await next();
  expectStatus(answer, 200);
  const { messages, texts } = readExact(answer);
  assert.deepEqual(
    messages.map((one) => one.message.messageId),
    ['b'],
  );
  const outcomes = JSON.parse(texts['settlements'] ?? '') as Outcome[];
  assert.deepEqual(
    outcomes.map(({ lockToken: token, settled, error }) => [token, settled, error?.code]),
    [
      [lockToken, true, undefined],
      [unknown, false, 'MessageLockLost'],
    ],
  );
  const empty = readExact(await next());
  assert.deepEqual([empty.messages, Object.keys(empty.texts)], [[], ['settlements']]);
});

test('a receive that is refused after settlements says why beside the outcomes', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a'), 201);
  const [lockToken] = tokensOf(
    readExact(await requestExact(broker, 'POST', 'q/messages/head?timeout=0')),
  );
  expectStatus(await broker.createQueue('other'), 201);
  expectStatus(await broker.updateQueue('q', { ForwardTo: 'other' }), 200);
  const answer = await requestExact(broker, 'POST', 'q/messages/head?timeout=0', {
    settlements: [{ outcome: 'complete', lockToken }],
  });
  expectStatus(answer, 200);
  const { messages, texts } = readExact(answer);
  assert.deepEqual(messages, []);
  assert.equal((JSON.parse(texts['error'] ?? '') as Refusal['error']).code, 'InvalidOperation');
  // The update has ended the lock (semantics N12).
  const [outcome] = JSON.parse(texts['settlements'] ?? '') as Outcome[];
  assert.equal(outcome?.error?.code, 'MessageLockLost');
});

for (const mode of ['peekLock', 'receiveAndDelete'] as const) {
  test(`deferred messages are received in the exact format: ${mode}`, async (t) => {
    const broker = await startQueue(t);
    expectStatus(await sendExact(broker, 'q/messages', [hex('005377 5407')]), 201);
    const [lockToken = ''] = tokensOf(
      readExact(await requestExact(broker, 'POST', 'q/messages/head?timeout=0')),
    );
    await broker.settle('q', [{ outcome: 'defer', lockToken }]);
    const answer = await requestExact(broker, 'POST', 'q/messages/$deferred', {
      sequenceNumbers: [1],
      mode,
    });
    expectStatus(answer, mode === 'peekLock' ? 201 : 200);
    assert.ok(Buffer.from(answer.bytes).includes(hex('005377 5407')));
    const [token] = tokensOf(readExact(answer));
    assert.equal(token !== '', mode === 'peekLock');
  });
}

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

interface Outcome {
  readonly lockToken: string;
  readonly settled: boolean;
  readonly error?: { readonly code: string };
}

function message(messageId: string) {
  return { messageId, body: new Uint8Array([1, 2, 3]), properties: {} };
}

function idsOf(answer: Parameters<typeof readExact>[0]): readonly string[] {
  return readExact(answer).messages.map((one) => one.message.messageId);
}
