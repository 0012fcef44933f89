import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { type LambdaBroker, startLambdaBroker } from '../../support/lambda-broker.ts';
import { specMode } from '../../support/spec-modes.ts';
import { startBroker } from '../../support/start-broker.ts';
import { BATCH_TYPE, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { fromWire, type WireMessage } from '../../support/wire-message.ts';

/** Messages that no response of a deployed function can carry, or only one in another form. */

const KB = 1024;
const MB = 1024 * KB;

async function startPremium(t: TestContext): Promise<LambdaBroker> {
  const lambda = await startLambdaBroker(t, 'Premium');
  const settings = { MaxMessageSizeInKilobytes: '102400' };
  expectStatus(await lambda.broker.createQueue('q', settings), 201);
  return lambda;
}

const head = (broker: TestBroker, method: string, query = '') =>
  broker.request(method, `q/messages/head${query}`, { headers: { Accept: 'application/json' } });

/** Checks that the large message and the next one are still stored, and the latter was never delivered. */
async function requireUntouched(broker: TestBroker): Promise<void> {
  const [message, ...others] = await broker.peek('q', { from: 2 });
  assert.deepEqual([message?.body, message?.broker.DeliveryCount, others], ['behind', 0, []]);
  const { active, deadLetter } = await broker.runtimeProperties('q');
  assert.deepEqual([active, deadLetter], [2, 0]);
}

for (const method of ['POST', 'DELETE']) {
  for (const query of ['', '?maxMessages=10']) {
    test(`${method} head${query}: a message that fits into no response is refused before it is claimed`, async (t) => {
      const { broker, requireResultsFit } = await startPremium(t);
      expectStatus(await broker.send('q', randomBytes(5 * MB)), 201);
      expectStatus(await broker.send('q', 'behind'), 201);
      const { write } = await broker.units(async () => {
        const answer = await head(broker, method, query);
        assert.equal(answer.status, 403);
        assert.equal(answer.headers.get('x-dynabus-error'), 'MessageSizeExceeded');
        assert.match(answer.text, /sequence number 1 .* \d+ bytes.*AMQP/);
      });
      assert.equal(write, 0);
      requireResultsFit();
      await requireUntouched(broker);
    });
  }
}

test('a large message that only fits alone is refused in the batch format and received without maxMessages', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  const body = randomBytes(3600 * KB);
  expectStatus(await broker.send('q', body), 201);
  const refused = await head(broker, 'POST', '?maxMessages=1');
  assert.equal(refused.status, 403);
  assert.match(refused.text, /without maxMessages/);
  const answer = await head(broker, 'DELETE');
  expectStatus(answer, 200);
  assert.deepEqual(Buffer.from(answer.bytes), body);
  requireResultsFit();
});

/** Properties that take `bytes` as headers. */
const headersOf = (bytes: number) =>
  Object.fromEntries(
    Array.from({ length: 4 }, (_, i) => [`p${i}`, `"${'x'.repeat(bytes / 4 - 10)}"`]),
  );

for (const method of ['POST', 'DELETE']) {
  for (const [form, bytes] of [
    ['headers', 8 * KB],
    ['a body', 10 * KB],
    ['a body', 32 * KB],
    ['a body', 60 * KB],
  ] as const) {
    test(`${method} head: a message with properties of ${bytes} bytes is received in ${form} through API Gateway`, async (t) => {
      const { broker, requireResultsFit } = await startPremium(t);
      const sent = { headers: headersOf(bytes), body: 'x' };
      expectStatus(await broker.request('POST', 'q/messages', sent), 201);
      const answer = await broker.request(method, 'q/messages/head?timeout=0');
      assert.equal(answer.status, method === 'POST' ? 201 : 200, answer.text);
      const isListed = answer.headers.get('content-type') === BATCH_TYPE;
      assert.equal(isListed, form === 'a body');
      if (isListed) {
        const [message] = answer.json<WireMessage[]>().map(fromWire);
        assert.equal(message?.body, 'x');
        assert.equal(Object.keys(message?.properties ?? {}).length, 4);
        assert.equal(message?.broker.LockToken !== undefined, method === 'POST');
      }
      requireResultsFit();
    });
  }
}

for (const bytes of [2 * KB, 6 * KB]) {
  test(`a large message with properties of ${bytes} bytes is received with headers`, async (t) => {
    const { broker, requireResultsFit } = await startPremium(t);
    const sent = { headers: headersOf(bytes), body: randomBytes(3600 * KB) };
    expectStatus(await broker.request('POST', 'q/messages', sent), 201);
    const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.deepEqual(Buffer.from(answer.bytes), sent.body);
    requireResultsFit();
  });
}

test('a large message with properties that print long is claimed only where it fits', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  const names = Array.from({ length: 455 }, (_, i) =>
    String.fromCharCode(1 + (i % 24), 1 + Math.floor(i / 24)),
  );
  const UserProperties = Object.fromEntries(names.map((name) => [name, null]));
  const Body = randomBytes(3700 * KB).toString('base64');
  expectStatus(
    await broker.sendBatch('q', [{ Body, BodyEncoding: 'base64', UserProperties }]),
    201,
  );
  expectStatus(await broker.send('q', 'behind'), 201);
  const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
  assert.equal(answer.status, 403, answer.text.slice(0, 300));
  requireResultsFit();
});

test('a message that is too long both as headers and as a body is not claimed', async (t) => {
  const { broker } = await startPremium(t);
  const sent = { headers: headersOf(32 * KB), body: randomBytes(3600 * KB) };
  expectStatus(await broker.request('POST', 'q/messages', sent), 201);
  expectStatus(await broker.send('q', 'behind'), 201);
  const answer = await head(broker, 'DELETE');
  assert.equal(answer.status, 403);
  assert.match(answer.text, /It was not received; receive it by AMQP/);
  await requireUntouched(broker);
});

test('without a limit on responses, a message of any size is received', async (t) => {
  if (specMode() === 'function URL') return t.skip('A function has that limit.');
  const broker = await startBroker(t, { tier: 'Premium' });
  const settings = { MaxMessageSizeInKilobytes: '102400' };
  expectStatus(await broker.createQueue('q', settings), 201);
  const body = randomBytes(5 * MB);
  expectStatus(await broker.send('q', body), 201);
  const [message] = await broker.receiveAndDeleteMany('q', 10);
  assert.equal(message?.body, body.toString('base64'));
});

test('messages before one that is too large are received first', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  expectStatus(await broker.send('q', 'small'), 201);
  expectStatus(await broker.send('q', randomBytes(5 * MB)), 201);
  const messages = await broker.receiveAndDeleteMany('q', 10);
  assert.deepEqual(
    messages.map(({ body }) => body),
    ['small'],
  );
  assert.equal((await head(broker, 'DELETE', '?maxMessages=10')).status, 403);
  requireResultsFit();
});

test('settle-and-receive settles, and reports that the next message is too large', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  expectStatus(await broker.send('q', 'small'), 201);
  const [first] = await broker.peekLockMany('q', 1);
  assert.ok(first);
  expectStatus(await broker.send('q', randomBytes(5 * MB)), 201);
  const answer = await broker.request('POST', 'q/messages/head?maxMessages=5', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      settlements: [{ lockToken: first.broker.LockToken, outcome: 'complete' }],
    }),
  });
  expectStatus(answer, 200);
  const { settlements, error } = answer.json<{
    settlements: { settled: boolean }[];
    error: { code: string };
  }>();
  assert.deepEqual([settlements[0]?.settled, error.code], [true, 'MessageSizeExceeded']);
  requireResultsFit();
});

test('a body that prints too long as text is printed as base64, and no other is', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  const long = '\u0001'.repeat(MB);
  const short = '\u0001'.repeat(100 * KB);
  expectStatus(await broker.send('q', long), 201);
  expectStatus(await broker.send('q', short), 201);
  const answer = await broker.request('DELETE', 'q/messages/head?maxMessages=10');
  expectStatus(answer, 200);
  const [first, second] = answer.json<WireMessage[]>();
  assert.ok(first && second);
  assert.equal(first.BodyEncoding, 'base64');
  assert.equal(Buffer.from(first.Body, 'base64').toString(), long);
  assert.deepEqual([second.BodyEncoding, fromWire(second).body], [undefined, short]);
  requireResultsFit();
});

test('deferred messages that do not fit into one response are refused before they are locked', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const numbers: number[] = [];
  for (let i = 0; i < 5; i++) {
    expectStatus(await broker.send('q', '\u0001'.repeat(250 * KB)), 201);
    const [message] = await broker.peekLockMany('q', 1);
    assert.ok(message);
    numbers.push(message.broker.SequenceNumber);
    const [outcome] = await broker.settle('q', [
      { lockToken: message.broker.LockToken, outcome: 'defer' },
    ]);
    assert.equal(outcome?.settled, true);
  }
  for (const mode of ['peekLock', 'receiveAndDelete'] as const) {
    const refused = await broker.receiveDeferredRaw('q', numbers, mode);
    assert.equal(refused.status, 403);
    assert.match(refused.text, /MessageSizeExceeded/);
    assert.match(refused.text, /fewer/);
  }
  const first = await broker.receiveDeferred('q', numbers.slice(0, 2));
  const second = await broker.receiveDeferred('q', numbers.slice(2, 4), 'receiveAndDelete');
  assert.deepEqual(
    [...first, ...second].map((message) => message.broker.SequenceNumber),
    numbers.slice(0, 4),
  );
  requireResultsFit();
});

test('a deferred message that fits into no response is refused before it is locked', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  expectStatus(await broker.send('q', randomBytes(3600 * KB)), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  const [outcome] = await broker.settle('q', [
    { lockToken: message.broker.LockToken, outcome: 'defer' },
  ]);
  assert.equal(outcome?.settled, true);
  const number = message.broker.SequenceNumber;
  const refused = await broker.receiveDeferredRaw('q', [number]);
  assert.equal(refused.status, 403);
  assert.match(refused.text, /AMQP/);
  requireResultsFit();
});

test('a peek at a message that fits into no response is refused with the number to go on from', async (t) => {
  const { broker, requireResultsFit } = await startPremium(t);
  expectStatus(await broker.send('q', randomBytes(5 * MB)), 201);
  expectStatus(await broker.send('q', 'small'), 201);
  const refused = await broker.request('GET', 'q/messages');
  assert.equal(refused.status, 403);
  assert.match(refused.text, /fromSequenceNumber=2/);
  const [next] = await broker.peek('q', { from: 2 });
  assert.equal(next?.body, 'small');
  requireResultsFit();
});
