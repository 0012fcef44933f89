import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { EXACT_TYPE, readExact, requestExact, sendExact } from '../../support/exact-messages.ts';
import { startLambdaBroker } from '../../support/lambda-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/**
 * Responses in the exact format through Lambda, which refuses a result of more than 6 MB, after the messages are
 * claimed. What a test sends needs several responses.
 */

const KB = 1024;

type Sent = Parameters<typeof sendExact>[2][number];

/** Short properties that take many times their size, since each has a descriptor. */
const manyUris = Object.fromEntries(
  Array.from({ length: 600 }, (_, i) => [i.toString(36), { type: 'uri', value: '' } as const]),
);

const BODIES: Readonly<Record<string, readonly [count: number, per: number, make: () => Sent]>> = {
  'random bytes': [26, 4, () => ({ messageId: '', properties: {}, body: randomBytes(250 * KB) })],
  'no bytes, with many properties,': [
    isMore() ? 600 : 320,
    80,
    () => ({ messageId: '', properties: manyUris, body: new Uint8Array() }),
  ],
  'two data sections': [
    28,
    4,
    () => Buffer.concat(Array.from({ length: 2 }, () => section(randomBytes(120 * KB)))),
  ],
};

function section(bytes: Uint8Array): Buffer {
  const head = Buffer.from('005375b000000000', 'hex');
  head.writeUInt32BE(bytes.byteLength, 4);
  return Buffer.concat([head, bytes]);
}

async function fill(broker: TestBroker, count: number, per: number, make: () => Sent) {
  for (let sent = 0; sent < count; sent += per) {
    const messages = Array.from({ length: Math.min(per, count - sent) }, make);
    expectStatus(await sendExact(broker, 'q/messages', messages), 201);
  }
}

async function drain(broker: TestBroker, method: 'POST' | 'DELETE'): Promise<readonly bigint[]> {
  const numbers: bigint[] = [];
  for (;;) {
    const path = 'q/messages/head?timeout=0&maxMessages=1000';
    const answer = await requestExact(broker, method, path);
    if (answer.status === 204) return numbers;
    expectStatus(answer, method === 'POST' ? 201 : 200);
    numbers.push(...readExact(answer).messages.map(({ sequenceNumber }) => sequenceNumber));
  }
}

for (const method of ['POST', 'DELETE'] as const) {
  for (const [what, [count, per, make]] of Object.entries(BODIES)) {
    test(`${method}: all messages of ${what} are received exactly, in responses that Lambda accepts`, async (t) => {
      const { broker, resultBytes, requireResultsFit } = await startLambdaBroker(t);
      expectStatus(await broker.createQueue('q'), 201);
      await fill(broker, count, per, make);
      const before = resultBytes.length;
      const numbers = await drain(broker, method);
      assert.deepEqual(
        numbers,
        Array.from({ length: count }, (_, i) => BigInt(i + 1)),
      );
      requireResultsFit();
      const answers = resultBytes.length - before;
      assert.ok(answers > 2 && answers < 12, `${answers} answers`);
    });
  }
}

test('a message that no function can answer with is refused in the exact format, and stays', async (t) => {
  const { broker } = await startLambdaBroker(t, 'Premium');
  expectStatus(await broker.createQueue('q', { MaxMessageSizeInKilobytes: '5120' }), 201);
  const body = randomBytes(4200 * KB);
  expectStatus(await sendExact(broker, 'q/messages', [section(body)]), 201);
  const refused = await requestExact(broker, 'POST', 'q/messages/head?timeout=0');
  expectStatus(refused, 403);
  assert.equal(refused.headers.get('x-dynabus-error'), 'MessageSizeExceeded');
  assert.equal(refused.headers.get('content-type'), 'application/json');
  const peeked = await requestExact(broker, 'GET', 'q/messages');
  assert.equal(peeked.headers.get('x-dynabus-error'), 'MessageSizeExceeded');
});

test('a message that fits is received by a function, whatever its bytes', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t, 'Premium');
  expectStatus(await broker.createQueue('q', { MaxMessageSizeInKilobytes: '5120' }), 201);
  const body = randomBytes(4095 * KB);
  expectStatus(await sendExact(broker, 'q/messages', [section(body)]), 201);
  const headers = { Accept: EXACT_TYPE };
  const answer = await broker.request('POST', 'q/messages/head?timeout=0', { headers });
  expectStatus(answer, 201);
  assert.deepEqual(Buffer.from(readExact(answer).messages[0]?.message.body ?? []), body);
  requireResultsFit();
});
