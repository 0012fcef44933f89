import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClient } from '../../support/api-client.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { newQueue, receiveNow, receiveOne } from './bus-entities.ts';
import { type ConnectedBus, withBus } from './service-bus-clients.ts';

const httpOf = (bus: ConnectedBus) =>
  new ApiClient(`http://localhost:${bus.namespace.port}`, ROOT_KEY);

withBus('one broker behind two transports', (bus) => {
  test('what was sent over AMQP is read over HTTP', async () => {
    const { name, sender } = await newQueue(bus);
    await sender.sendMessages({
      body: Buffer.from('plain bytes'),
      messageId: 'm1',
      subject: 'the label',
      correlationId: 'c1',
      contentType: 'text/plain',
      timeToLive: 60_000,
      applicationProperties: { number: 7, text: 'x', yes: true },
    });
    const answer = await httpOf(bus).request('POST', `${name}/messages/head?timeout=5`);
    assert.equal(answer.status, 201);
    assert.equal(answer.text, 'plain bytes');
    assert.equal(answer.headers.get('content-type'), 'text/plain');
    assert.equal(answer.headers.get('number'), '7');
    assert.equal(answer.headers.get('text'), '"x"');
    assert.equal(answer.headers.get('yes'), 'true');
    const properties = JSON.parse(answer.headers.get('brokerproperties') ?? '');
    assert.equal(properties.MessageId, 'm1');
    assert.equal(properties.Label, 'the label');
    assert.equal(properties.CorrelationId, 'c1');
    assert.equal(properties.TimeToLive, 60);
    assert.equal(properties.DeliveryCount, 1);
  });

  test('bodies that only AMQP knows are readable over HTTP, and come back over AMQP', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages([
      { bodyType: 'value', body: 'a text' },
      { bodyType: 'sequence', body: [['a', true]] },
    ]);
    const http = httpOf(bus);
    const seen: string[] = [];
    for (let i = 0; i < 2; i++) {
      const answer = await http.request('POST', `${name}/messages/head?timeout=5`);
      seen.push(answer.text);
      await http.request('PUT', new URL(answer.headers.get('location') ?? '').href);
      if (i === 0) {
        const message = await receiveOne(receiver);
        assert.equal(message.body, 'a text');
        assert.equal(message._rawAmqpMessage.bodyType, 'value');
        await receiver.completeMessage(message);
      }
    }
    assert.deepEqual(seen, ['a text', '[["a",true]]']);
    const message = await receiveOne(receiver);
    assert.equal(message._rawAmqpMessage.bodyType, 'sequence');
    assert.deepEqual(message.body, [['a', true]]);
  });

  test('what was sent over HTTP is received over AMQP, at once', async () => {
    const { name, receiver } = await newQueue(bus);
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
    await httpOf(bus).request('POST', `${name}/messages`, {
      headers: {
        'Content-Type': 'application/json',
        BrokerProperties: JSON.stringify({ MessageId: 'h1', Label: 'from afar' }),
        Size: '3',
      },
      body: '{"order":1}',
    });
    const [message] = await waiting;
    assert.deepEqual(message?.body, { order: 1 });
    assert.deepEqual([message?.messageId, message?.subject], ['h1', 'from afar']);
    assert.equal(message?.contentType, 'application/json');
    assert.equal(message?.applicationProperties?.['size'], 3);
  });

  test('a message that was locked over AMQP is completed over HTTP', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'shared' });
    const message = await receiveOne(receiver);
    const path = `${name}/messages/${message.sequenceNumber}/${message.lockToken}`;
    assert.equal((await httpOf(bus).request('DELETE', path)).status, 200);
    assert.deepEqual(await receiveNow(receiver), []);
    await assert.rejects(receiver.completeMessage(message), { code: 'MessageLockLost' });
  });
});
