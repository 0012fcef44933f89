import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { newQueue, newSessionQueue, receiveNow, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

/** What is left of a message after each way to settle it, with `why` as the property it adds. */
const WAYS: Readonly<
  Record<
    string,
    {
      settle(receiver: ServiceBusReceiver, message: ServiceBusReceivedMessage): Promise<void>;
      left: readonly [state: string, why: unknown] | undefined;
      dead?: unknown;
    }
  >
> = {
  completed: { settle: (r, m) => r.completeMessage(m), left: undefined },
  abandoned: {
    settle: (r, m) => r.abandonMessage(m, { why: 'later' }),
    left: ['active', 'later'],
  },
  deferred: {
    settle: (r, m) => r.deferMessage(m, { why: 'not yet' }),
    left: ['deferred', 'not yet'],
  },
  'dead-lettered': {
    settle: (r, m) =>
      r.deadLetterMessage(m, {
        deadLetterReason: 'bad',
        deadLetterErrorDescription: '',
        why: 'never',
      }),
    left: undefined,
    dead: ['bad', 'never'],
  },
};

withBus('settling where the message was not received', (bus) => {
  const leftIn = async (receiver: ServiceBusReceiver) =>
    (await receiver.peekMessages(5)).map((message) => [
      message.state,
      message.applicationProperties?.['why'],
    ]);
  const deadIn = async (name: string) => {
    const dead = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    const [letter] = await receiveNow(dead, 1);
    return letter && [letter.deadLetterReason, letter.applicationProperties?.['why']];
  };

  for (const [name, { settle, left, dead }] of Object.entries(WAYS)) {
    test(`a message is ${name} after its receiver was closed`, async () => {
      const queue = await newQueue(bus);
      await queue.sender.sendMessages({ body: 'a', applicationProperties: { why: 'sent' } });
      const message = await receiveOne(queue.receiver);
      await queue.receiver.close();
      const other = bus.client.createReceiver(queue.name);
      await settle(other, message);
      assert.deepEqual(await leftIn(other), left === undefined ? [] : [left]);
      assert.deepEqual(await deadIn(queue.name), dead);
    });

    test(`a deferred message is ${name}, and changes its properties`, async () => {
      const { name: queue, sender, receiver } = await newQueue(bus);
      await sender.sendMessages({ body: 'a', applicationProperties: { why: 'sent' } });
      const deferred = await deferredOf(receiver);
      await settle(receiver, deferred);
      // What was deferred stays so until it is settled for good.
      assert.deepEqual(await leftIn(receiver), left === undefined ? [] : [['deferred', left[1]]]);
      assert.deepEqual(await deadIn(queue), dead);
    });

    test(`a deferred message of a session is ${name}, and changes its properties`, async () => {
      const { name: queue, sender } = await newSessionQueue(bus);
      const sessionId = 'S';
      await sender.sendMessages({ body: 'a', sessionId, applicationProperties: { why: 'sent' } });
      const receiver = await bus.client.acceptSession(queue, sessionId);
      await settle(receiver, await deferredOf(receiver));
      assert.deepEqual(await leftIn(receiver), left === undefined ? [] : [['deferred', left[1]]]);
      await receiver.close();
      assert.deepEqual(await deadIn(queue), dead);
    });
  }

  test('the lock of a deferred message is renewed', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'a' });
    const deferred = await deferredOf(receiver);
    const before = deferred.lockedUntilUtc?.getTime() ?? Infinity;
    bus.namespace.advance(5);
    assert.ok((await receiver.renewMessageLock(deferred)).getTime() > before);
    await receiver.completeMessage(deferred);
  });
});

async function deferredOf(receiver: ServiceBusReceiver): Promise<ServiceBusReceivedMessage> {
  const message = await receiveOne(receiver);
  await receiver.deferMessage(message);
  assert.ok(message.sequenceNumber);
  const [deferred] = await receiver.receiveDeferredMessages(message.sequenceNumber);
  assert.ok(deferred);
  return deferred;
}
