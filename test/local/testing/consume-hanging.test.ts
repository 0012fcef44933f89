import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { startNamespace } from '../../../local/testing/testing.ts';

/** A function that does not answer holds up nothing but its messages. */

for (const isStopped of [false, true]) {
  const how = isStopped ? ', also if its consumer was removed before' : '';
  test(`a namespace stops soon while a function does not answer${how}`, async () => {
    const bus = await startNamespace({ queues: ['orders'] });
    const client = new ServiceBusClient(bus.connectionString);
    let called = () => {};
    const isCalled = new Promise<void>((resolve) => {
      called = resolve;
    });
    const settings = { timeout: { seconds: 40 } };
    const consumption = await bus.consume('orders', () => new Promise(() => called()), settings);
    await client.createSender('orders').sendMessages({ body: 1 });
    await isCalled;
    await client.close();
    if (isStopped) await consumption.stop();
    const began = performance.now();
    await bus.stop();
    const seconds = (performance.now() - began) / 1000;
    assert.ok(seconds < 20, `It took ${seconds} s.`);
  });
}
