import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { type PushedEvent, startNamespace } from '../../../local/testing/testing.ts';

test('after a reset a function gets the messages of a session, although a call from before goes on', {
  timeout: 30_000,
}, async (t) => {
  const bus = await startNamespace({ queues: [{ name: 'carts', requiresSession: true }] });
  const client = new ServiceBusClient(bus.connectionString);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  t.after(async () => {
    release();
    await client.close();
    await bus.stop();
  });
  const called: string[] = [];
  let tell = () => {};
  await bus.consume('carts', async ({ Records }: PushedEvent) => {
    const bodies = Records.map(({ body }) => JSON.parse(body) as string);
    called.push(...bodies);
    tell();
    if (bodies.includes('slow')) await released;
  });
  const sender = client.createSender('carts');
  const calledWith = async (body: string) => {
    const isCalled = new Promise<void>((resolve) => {
      tell = resolve;
    });
    await sender.sendMessages({ body, sessionId: 's' });
    await isCalled;
  };
  await calledWith('slow');
  await bus.reset();
  await calledWith('fast');
  assert.deepEqual(called, ['slow', 'fast']);
});
