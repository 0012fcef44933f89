import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AmqpAnnotatedMessage } from '@azure/core-amqp';
import type { ServiceBusMessage } from '@azure/service-bus';
import { newQueue, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

withBus('what a message carries', (bus) => {
  const BODIES: Readonly<Record<string, unknown>> = {
    'a text': 'plain',
    'an empty text': '',
    'a text beyond ASCII': 'größer 🚀',
    'a number': 42,
    'a fraction': 1.5,
    'a boolean': true,
    nothing: null,
    'an object': { a: [1, 'two', { three: null }] },
    'a list': [1, 2, 3],
  };
  for (const [name, body] of Object.entries(BODIES)) {
    test(`a body that is ${name} comes back as it was`, async () => {
      const { sender, receiver } = await newQueue(bus);
      await sender.sendMessages({ body });
      assert.deepEqual((await receiveOne(receiver)).body, body);
    });
  }

  test('a body of bytes comes back as bytes', async () => {
    const { sender, receiver } = await newQueue(bus);
    const body = Buffer.from([0, 1, 254, 255]);
    await sender.sendMessages({ body });
    const received = (await receiveOne(receiver)).body;
    assert.ok(Buffer.isBuffer(received) && received.equals(body));
  });

  const KINDS: readonly [AmqpAnnotatedMessage['bodyType'] & string, unknown][] = [
    ['data', Buffer.from('bytes')],
    ['value', 'text'],
    ['value', { nested: { deep: [1, 2] } }],
    ['value', 17],
    ['sequence', [['a', 'b'], ['c']]],
    ['sequence', [[1, 'two', true]]],
  ];
  for (const [bodyType, body] of KINDS) {
    test(`an AMQP body of the kind ${bodyType} keeps it: ${JSON.stringify(body)}`, async () => {
      const { sender, receiver } = await newQueue(bus);
      const sent: AmqpAnnotatedMessage = { bodyType, body };
      await sender.sendMessages(sent);
      const message = await receiveOne(receiver);
      assert.equal(message._rawAmqpMessage.bodyType, bodyType);
      assert.deepEqual(message.body, body);
    });
  }

  test('every system property comes back', async () => {
    const { sender, receiver } = await newQueue(bus);
    const sent: ServiceBusMessage = {
      body: 'all of them',
      messageId: 'id-1',
      contentType: 'text/plain',
      correlationId: 'corr-1',
      subject: 'the subject',
      to: 'somewhere',
      replyTo: 'elsewhere',
      replyToSessionId: 'reply-session',
      sessionId: 'the-key',
      partitionKey: 'the-key',
      timeToLive: 60_000,
    };
    await sender.sendMessages(sent);
    const message = await receiveOne(receiver);
    for (const [name, value] of Object.entries(sent)) {
      assert.deepEqual(message[name as keyof typeof message], value, name);
    }
    assert.ok(
      message.enqueuedTimeUtc && Math.abs(message.enqueuedTimeUtc.getTime() - Date.now()) < 60_000,
    );
    assert.equal(message.expiresAtUtc?.getTime(), message.enqueuedTimeUtc.getTime() + 60_000);
  });

  test('what was not said is not there, but for an id', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'bare' });
    const message = await receiveOne(receiver);
    assert.match(String(message.messageId), /^[0-9a-f]{32}$/);
    assert.equal(message.subject, undefined);
    assert.equal(message.correlationId, undefined);
    assert.equal(message.sessionId, undefined);
    assert.equal(message.scheduledEnqueueTimeUtc, undefined);
    assert.equal(message.deadLetterReason, undefined);
  });

  test('application properties keep their types', async () => {
    const { sender, receiver } = await newQueue(bus);
    const applicationProperties = {
      text: 'a text',
      int: 7,
      negative: -7,
      fraction: 2.5,
      big: 9_007_199_254_740_991,
      yes: true,
      no: false,
      nothing: null,
      instant: new Date('2026-01-02T03:04:05.678Z'),
    };
    await sender.sendMessages({ body: 'typed', applicationProperties });
    // The client itself makes numbers of instants.
    const instant = applicationProperties.instant.getTime();
    assert.deepEqual((await receiveOne(receiver)).applicationProperties, {
      ...applicationProperties,
      instant,
    });
  });

  test('numbers for ids come back as numbers', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: '', messageId: 12, correlationId: 34 });
    const message = await receiveOne(receiver);
    assert.equal(message.messageId, 12);
    assert.equal(message.correlationId, 34);
  });

  test('annotations and header of an AMQP message are kept', async () => {
    const { sender, receiver } = await newQueue(bus);
    const sent: AmqpAnnotatedMessage = {
      body: Buffer.from('annotated'),
      bodyType: 'data',
      header: { durable: true, priority: 7, firstAcquirer: false },
      messageAnnotations: { 'x-mine': 'kept', 'x-number': 3 },
      footer: { checksum: 'abc' },
      properties: { contentEncoding: 'utf-8', groupSequence: 9 },
    };
    await sender.sendMessages(sent);
    const { _rawAmqpMessage: raw } = await receiveOne(receiver);
    assert.equal(raw.header?.durable, true);
    assert.equal(raw.header?.priority, 7);
    assert.equal(raw.header?.firstAcquirer, false);
    assert.equal(raw.messageAnnotations?.['x-mine'], 'kept');
    assert.equal(raw.messageAnnotations?.['x-number'], 3);
    assert.deepEqual(raw.footer, { checksum: 'abc' });
    assert.equal(raw.properties?.contentEncoding, 'utf-8');
    assert.equal(raw.properties?.groupSequence, 9);
  });

  test('a time to live is lowered to that of the queue', async () => {
    const { sender, receiver } = await newQueue(bus, { defaultMessageTimeToLive: 'PT1M' });
    await sender.sendMessages({ body: 'short', timeToLive: 3_600_000 });
    assert.equal((await receiveOne(receiver)).timeToLive, 60_000);
  });

  test('what has expired is not handed out', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages([{ body: 'gone', timeToLive: 1 }, { body: 'there' }]);
    assert.equal((await receiveOne(receiver)).body, 'there');
  });
});
