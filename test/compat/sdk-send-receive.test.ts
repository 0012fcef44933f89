import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withEachBus } from './service-bus-clients.ts';

withEachBus('sending and receiving', (bus) => {
  test('a message is sent, received under a lock and completed', async () => {
    await bus.admin.createQueue('simple');
    const sender = bus.client.createSender('simple');
    await sender.sendMessages({ body: 'hello', messageId: 'm1', applicationProperties: { n: 1 } });
    const receiver = bus.client.createReceiver('simple');
    const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 5000 });
    assert.ok(message);
    assert.equal(message.body, 'hello');
    assert.equal(message.messageId, 'm1');
    assert.deepEqual(message.applicationProperties, { n: 1 });
    assert.equal(message.deliveryCount, 0);
    assert.equal(message.sequenceNumber?.toString(), '1');
    await receiver.completeMessage(message);
    assert.deepEqual(await receiver.receiveMessages(1, { maxWaitTimeInMs: 200 }), []);
  });
});
