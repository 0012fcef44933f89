import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

const KB = 1024;

async function startQueue(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  // Only Premium allows another maximum message size.
  const tier = 'MaxMessageSizeInKilobytes' in settings ? 'Premium' : 'Standard';
  const broker = await startBroker(t, { tier });
  expectStatus(await broker.createQueue('q', settings), 201);
  return broker;
}

/** The body, as bytes, that a receive-and-delete returns. */
async function nextBytes(broker: TestBroker): Promise<Buffer> {
  const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
  expectStatus(answer, 200);
  return Buffer.from(answer.bytes);
}

async function receiveAll(broker: TestBroker): Promise<readonly Received[]> {
  const all: Received[] = [];
  for (;;) {
    const some = await broker.receiveAndDeleteMany('q', 1000);
    if (some.length === 0) return all;
    all.push(...some);
  }
}

test('#B1 #B2 an accepted send answers 201 without a body', async (t) => {
  const broker = await startQueue(t);
  const answer = await broker.send('q', 'x');
  assert.deepEqual([answer.status, answer.text], [201, '']);
  const batch = await broker.sendBatch('q', [{ Body: 'x' }]);
  assert.deepEqual([batch.status, batch.text], [201, '']);
});

test('#20 a message without a MessageId gets a unique one of 32 hex digits', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a'), 201);
  expectStatus(await broker.send('q', 'b', { MessageId: '' }), 201);
  expectStatus(await broker.sendBatch('q', [{ Body: 'c' }, { Body: 'd' }]), 201);
  const ids = (await receiveAll(broker)).map(({ broker: { MessageId } }) => MessageId);
  assert.equal(new Set(ids).size, 4);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
});

const BODIES: readonly (readonly [string, Uint8Array])[] = [
  ['an empty body', new Uint8Array()],
  ['a single zero byte', new Uint8Array(1)],
  ['every byte value', Uint8Array.from({ length: 256 }, (_, i) => i)],
  ['a byte order mark and text', Buffer.from('\ufeffgrün')],
  ['broken UTF-8', Uint8Array.of(0xc3, 0x28, 0xff, 0xfe)],
  ['JSON with odd spacing', Buffer.from('{ "a" : 1.0 ,\r\n"b":"\\u00e4" }\n')],
  ['1,000 random bytes', randomBytes(1000)],
  ['64 KB of random bytes', randomBytes(64 * KB)],
  ['64 KB of zeros', new Uint8Array(64 * KB)],
  ['256 KB of random bytes, the default limit', randomBytes(256 * KB)],
];

for (const [what, body] of BODIES) {
  test(`${what} is delivered byte for byte as it was sent`, async (t) => {
    const broker = await startQueue(t);
    expectStatus(await broker.send('q', body), 201);
    assert.ok((await nextBytes(broker)).equals(body));
  });
}

test('a message of 1 MiB is accepted if the queue allows it, and a larger one is refused', async (t) => {
  const broker = await startQueue(t, { MaxMessageSizeInKilobytes: '1024' });
  const body = randomBytes(1024 * KB);
  expectStatus(await broker.send('q', body), 201);
  const locked = await broker.request('POST', 'q/messages/head?timeout=0');
  assert.equal(locked.status, 201);
  assert.ok(Buffer.from(locked.bytes).equals(body));
  expectStatus(await broker.request('DELETE', locked.headers.get('location') ?? ''), 200);
  assert.equal((await broker.send('q', randomBytes(1024 * KB + 1))).status, 403);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('bodies of a batch, text or base64, are delivered byte for byte', async (t) => {
  const broker = await startQueue(t);
  const sent = BODIES.map(([, body]) => Buffer.from(body)).filter((body) => body.length < 9999);
  const batch = sent.map((body) => ({
    Body: body.toString('base64'),
    BodyEncoding: 'base64' as const,
  }));
  expectStatus(await broker.sendBatch('q', [...batch, { Body: 'plain €' }]), 201);

  const answer = await broker.request('POST', 'q/messages/head?timeout=0&maxMessages=100');
  expectStatus(answer, 201);
  const shown = answer.json<readonly { Body: string; BodyEncoding?: 'base64' }[]>();
  const read = shown.map(({ Body, BodyEncoding }) => Buffer.from(Body, BodyEncoding ?? 'utf8'));
  assert.deepEqual(read, [...sent, Buffer.from('plain €')]);
  // A body that is valid text is shown as text, even if it was sent as base64.
  assert.equal(shown.at(-1)?.BodyEncoding, undefined);
  assert.equal(shown.find(({ Body }) => Body.includes('grün'))?.BodyEncoding, undefined);
});

test('#149 a batch of two objects is two messages', async (t) => {
  const broker = await startQueue(t);
  const batch = [
    { Body: 'first', BrokerProperties: { Label: 'M1', TimeToLiveTimeSpan: '0.00:00:40' } },
    { Body: 'second', UserProperties: { Priority: 'Low' } },
  ];
  expectStatus(await broker.sendBatch('q', batch), 201);
  const [first, second, ...others] = await receiveAll(broker);
  assert.deepEqual([first?.body, first?.broker['Label']], ['first', 'M1']);
  assert.equal(first?.broker.TimeToLive, 40);
  assert.deepEqual([second?.body, second?.properties], ['second', { Priority: 'Low' }]);
  assert.deepEqual(others, []);
});

test('#149 a batch with one invalid message is refused whole', async (t) => {
  const broker = await startQueue(t);
  const good = Array.from({ length: 120 }, (_, i) => ({ Body: `${i}` }));
  const bad = [{ Body: 'x', BrokerProperties: { MessageId: 'x'.repeat(129) } }];
  for (const place of [0, 60, 120]) {
    const batch = [...good.slice(0, place), ...bad, ...good.slice(place)];
    const answer = await broker.sendBatch('q', batch);
    assert.equal(answer.status, 400);
    assert.match(answer.text, new RegExp(`Message ${place} of the batch: MessageId is 129`));
  }
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a batch of 4,500 messages is stored whole and delivered in order', async (t) => {
  const broker = await startQueue(t);
  const batch = Array.from({ length: 4500 }, (_, i) => ({ Body: `message ${i}` }));
  expectStatus(await broker.sendBatch('q', batch), 201);
  const received = await receiveAll(broker);
  assert.deepEqual(
    received.map(({ body }) => body),
    batch.map(({ Body }) => Body),
  );
  assert.deepEqual(
    received.map(({ broker: { SequenceNumber } }) => SequenceNumber),
    batch.map((_, i) => i + 1),
  );
});

test('a batch of 4,500 messages with different times to live is stored whole', async (t) => {
  const broker = await startQueue(t);
  const batch = Array.from({ length: 4500 }, (_, i) => ({
    Body: `message ${i}`,
    BrokerProperties: { TimeToLive: 1000 + i },
  }));
  expectStatus(await broker.sendBatch('q', batch), 201);
  const received = await receiveAll(broker);
  assert.equal(received.length, 4500);
  assert.ok(received.every(({ broker: { TimeToLive } }, i) => TimeToLive === 1000 + i));
});

test('a batch of 1 MiB is stored whole, and one of one byte more is refused whole', async (t) => {
  const broker = await startQueue(t);
  const batch = Array.from({ length: 16 }, () => ({ Body: randomBytes(32 * KB).toString('hex') }));
  expectStatus(await broker.sendBatch('q', batch), 201);
  assert.deepEqual(
    (await receiveAll(broker)).map(({ body }) => body),
    batch.map(({ Body }) => Body),
  );

  const tooMuch = await broker.sendBatch('q', [...batch, { Body: 'x' }]);
  assert.equal(tooMuch.status, 403);
  assert.match(tooMuch.text, /The batch is 1048577 bytes long/);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#60 sequence numbers start at 1 and have no gaps, even with concurrent senders', async (t) => {
  const broker = await startQueue(t);
  const single = (name: string) => broker.send('q', name);
  const batch = (name: string) =>
    broker.sendBatch(
      'q',
      Array.from({ length: 35 }, (_, i) => ({ Body: `${name}.${i}` })),
    );
  const sends = Array.from({ length: 40 }, (_, i) =>
    i % 4 === 0 ? batch(`${i}`) : single(`${i}`),
  );
  for (const answer of await Promise.all(sends)) expectStatus(answer, 201);

  const received = await receiveAll(broker);
  const numbers = received.map(({ broker: { SequenceNumber } }) => SequenceNumber);
  assert.deepEqual(
    numbers.sort((a, b) => a - b),
    Array.from({ length: 30 + 10 * 35 }, (_, i) => i + 1),
  );
  const ofBatch = received.filter(({ body }) => body.startsWith('0.'));
  const [first] = ofBatch;
  assert.ok(first);
  // A batch is stored as a whole, so its sequence numbers are consecutive.
  for (const [
    i,
    {
      body,
      broker: { SequenceNumber },
    },
  ] of ofBatch.entries()) {
    assert.deepEqual([body, SequenceNumber], [`0.${i}`, first.broker.SequenceNumber + i]);
  }
});

test('a refused send does not use up a sequence number', async (t) => {
  const broker = await startQueue(t);
  assert.equal((await broker.send('q', randomBytes(256 * KB + 1))).status, 403);
  assert.equal((await broker.send('q', 'x', { MessageId: 'x'.repeat(129) })).status, 400);
  expectStatus(await broker.send('q', 'good'), 201);
  assert.equal((await broker.peekLock('q'))?.broker.SequenceNumber, 1);
});

test('#160 a queue that is deleted and created again never shows old messages', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', [{ Body: 'old' }, { Body: 'old, locked' }]), 201);
  const locked = await broker.peekLock('q');
  assert.ok(locked);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  assert.equal((await broker.send('q', 'to no queue')).status, 410);
  assert.equal((await broker.request('POST', 'q/messages/head?timeout=0')).status, 410);

  expectStatus(await broker.createQueue('q'), 201);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.complete(locked), 404);
  expectStatus(await broker.send('q', 'new'), 201);
  const [only, ...others] = await receiveAll(broker);
  assert.deepEqual([only?.body, only?.broker.SequenceNumber, others], ['new', 1, []]);
  broker.clock.advance({ days: 1 });
  await broker.sweep();
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a DefaultMessageTimeToLive is stored, returned, and limits the TimeToLive of messages', async (t) => {
  const broker = await startQueue(t, {
    LockDuration: 'PT45S',
    DefaultMessageTimeToLive: 'PT1H30M',
    MaxDeliveryCount: '7',
  });
  const description = await broker.request('GET', 'q');
  expectStatus(description, 200);
  assert.match(description.text, /<LockDuration>PT45S</);
  assert.match(description.text, /<DefaultMessageTimeToLive>PT1H30M</);
  assert.match(description.text, /<MaxDeliveryCount>7</);

  for (const own of [{}, { TimeToLive: 60.5 }, { TimeToLive: 86_400 }]) {
    expectStatus(await broker.send('q', 'x', own), 201);
  }
  const seconds = (await receiveAll(broker)).map(({ broker: { TimeToLive } }) => TimeToLive);
  assert.deepEqual(seconds, [5400, 60.5, 5400]);
});
