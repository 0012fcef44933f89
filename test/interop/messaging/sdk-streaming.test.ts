import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { bodies, newQueue, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

const POLL_MS = 20;

/** Takes messages until there are so many; resolves a little after the last was processed. */
function take(
  receiver: ServiceBusReceiver,
  count: number,
  options: Parameters<ServiceBusReceiver['subscribe']>[1] = {},
  process: (message: ServiceBusReceivedMessage) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  const seen: string[] = [];
  return new Promise((resolve, reject) => {
    const subscription = receiver.subscribe(
      {
        processMessage: async (message) => {
          seen.push(message.body);
          await process(message);
          if (seen.length === count) {
            setTimeout(() => void subscription.close().then(() => resolve(seen)), 200);
          }
        },
        processError: async ({ error }) => reject(error),
      },
      options,
    );
  });
}

withBus('subscribing', (bus) => {
  test('messages are pushed and completed by themselves', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b', 'c'));
    assert.deepEqual(await take(receiver, 3), ['a', 'b', 'c']);
    assert.deepEqual(await receiver.peekMessages(5), []);
  });

  test('what comes later is pushed within a moment', async () => {
    const { sender, receiver } = await newQueue(bus);
    const taken = take(receiver, 3);
    for (const body of ['a', 'b', 'c']) await sender.sendMessages({ body });
    assert.deepEqual(await taken, ['a', 'b', 'c']);
  });

  test('many at once do not get in each other’s way', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(Array.from({ length: 100 }, (_, i) => ({ body: `m${i}` })));
    const seen = await take(receiver, 100, { maxConcurrentCalls: 20 });
    assert.equal(new Set(seen).size, 100);
    assert.deepEqual(await receiver.peekMessages(5), []);
  });

  test('a handler that fails gives its message back', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'twice' });
    const counts: (number | undefined)[] = [];
    await new Promise<void>((resolve) => {
      const subscription = receiver.subscribe({
        processMessage: async ({ deliveryCount }) => {
          counts.push(deliveryCount);
          if (counts.length === 1) throw new Error('not this time');
          setTimeout(() => void subscription.close().then(resolve), 200);
        },
        processError: async () => {},
      });
    });
    assert.deepEqual(counts, [0, 1]);
  });

  test('the lock of a message is renewed while it is worked on', async () => {
    const { sender, receiver } = await newQueue(bus, { lockDuration: 'PT5S' });
    await sender.sendMessages({ body: 'long' });
    const seen = await take(receiver, 1, {}, async (message) => {
      const lockedUntil = () => message.lockedUntilUtc?.getTime() ?? 0;
      const first = lockedUntil();
      while (lockedUntil() === first) await pause(POLL_MS);
      bus.namespace.advance(first - Date.now() + 1);
    });
    assert.deepEqual(seen, ['long']);
    assert.deepEqual(await receiver.peekMessages(5), []);
  });

  test('without auto-complete a message stays locked until it is settled', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'mine' });
    await take(receiver, 1, { autoCompleteMessages: false });
    assert.equal((await receiver.peekMessages(5)).length, 1);
  });

  test('messages come through an iterator', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b'));
    const seen: string[] = [];
    for await (const message of receiver.getMessageIterator()) {
      seen.push(message.body);
      await receiver.completeMessage(message);
      if (seen.length === 2) break;
    }
    assert.deepEqual(seen, ['a', 'b']);
  });

  test('a receiver that subscribed and stopped leaves the rest to others', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'a' });
    await take(receiver, 1);
    await receiver.close();
    await sender.sendMessages({ body: 'b' });
    assert.equal((await receiveOne(bus.client.createReceiver(name))).body, 'b');
  });
});
