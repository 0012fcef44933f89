import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { startNamespace, type TestNamespace } from '../../../local/testing/testing.ts';

/** Starts a namespace that is deleted after the tests of this file. */
async function started(
  ...args: Parameters<typeof startNamespace>
): Promise<TestNamespace & { readonly client: ServiceBusClient }> {
  const bus = await startNamespace(...args);
  const client = new ServiceBusClient(bus.connectionString);
  after(async () => {
    await client.close();
    await bus.stop();
  });
  return Object.assign(bus, { client });
}

test('a message keeps its place, its lock and its client while the clock moves 14 days', async () => {
  const { client, clock } = await started({ queues: ['orders'] });
  const sender = client.createSender('orders');
  await sender.sendMessages({ body: { order: 1 } });
  const receiver = client.createReceiver('orders');
  await receiver.receiveMessages(1);
  const before = await clock.now();

  const after14Days = await clock.advance({ days: 14 });

  assert.ok(after14Days.getTime() - before.getTime() >= 14 * 86_400_000);
  const [again] = await receiver.receiveMessages(1);
  assert.equal(again?.deliveryCount, 1);
  await sender.sendMessages({ body: 2 });
  assert.equal((await receiver.receiveMessages(1)).length, 1);
});

test('messages shows active, deferred, scheduled and dead messages with all that they have', async () => {
  const { client, clock, messages } = bound(await started({ queues: ['orders'] }));
  const sender = client.createSender('orders');
  const properties = {
    count: 7,

    at: new Date('2030-01-01'),
    flag: true,
    text: 'a',
  };
  await sender.sendMessages({
    ...{ body: 'active', messageId: 'm-1', subject: 's', correlationId: 'c', contentType: 't/x' },
    applicationProperties: properties as never,
  });
  const due = new Date((await clock.now()).getTime() + 3_600_000);
  await sender.scheduleMessages({ body: Buffer.from([0xff, 0]) }, due);

  const [active, scheduled, ...others] = await messages('orders');

  assert.deepEqual(others, []);
  assert.deepEqual(
    { ...active, enqueuedTime: undefined },
    {
      ...{ body: 'active', messageId: 'm-1', subject: 's', correlationId: 'c', contentType: 't/x' },
      ...{ state: 'active', deliveryCount: 0, sequenceNumber: 1n, enqueuedTime: undefined },
      applicationProperties: properties,
    },
  );
  assert.equal(scheduled?.state, 'scheduled');
  assert.deepEqual(scheduled.body, Buffer.from([0xff, 0]));
  assert.equal(scheduled.scheduledEnqueueTime?.getTime(), Math.floor(due.getTime() / 1000) * 1000);

  const receiver = client.createReceiver('orders');
  const [received] = await receiver.receiveMessages(1);
  assert.ok(received);
  await receiver.deadLetterMessage(received, {
    deadLetterReason: 'wrong',
    deadLetterErrorDescription: 'no such order',
  });
  const [dead] = await messages('orders/$deadletterqueue');
  assert.equal(dead?.deadLetterReason, 'wrong');
  assert.equal(dead.deadLetterErrorDescription, 'no such order');
  assert.deepEqual(dead.applicationProperties, properties);
});

test('reset leaves the declared entities without messages, and the clients connected', async () => {
  const { client, messages, reset } = bound(await started({ queues: ['orders', 'others'] }));
  const sender = client.createSender('orders');
  const receiver = client.createReceiver('orders');
  await sender.sendMessages([{ body: 1 }, { body: 2 }]);
  await receiver.receiveMessages(1);

  await reset();

  assert.deepEqual(await messages('orders'), []);
  await sender.sendMessages({ body: 3 });
  const [message] = await receiver.receiveMessages(1);
  assert.equal(message?.body, 3);
});

test('namespaces share neither entities nor messages nor the clock', async () => {
  const [one, other] = [
    await started({ queues: ['orders'] }),
    await started({ queues: ['orders'] }),
  ];
  await one.client.createSender('orders').sendMessages({ body: 1 });
  await one.clock.advance({ hours: 1 });
  assert.deepEqual(await other.messages('orders'), []);
  const ahead = (await one.clock.now()).getTime() - (await other.clock.now()).getTime();
  assert.ok(ahead > 3_500_000, String(ahead));
});

test('the clock takes parts and ISO 8601, moves to an instant, and never back', async () => {
  const { clock } = await started();
  const before = await clock.now();
  await clock.advance('PT1H30M');
  await clock.advance({ minutes: 29, seconds: 59, milliseconds: 1000 });
  const moved = (await clock.now()).getTime() - before.getTime();
  assert.ok(moved >= 7_200_000 && moved < 7_260_000, String(moved));

  const later = new Date('2031-01-01T00:00:00Z');
  assert.ok((await clock.advanceTo(later)) >= later);
  await assert.rejects(clock.advanceTo(before), /The clock moves forward only/);
  await assert.rejects(clock.advance({ weeks: 1 } as never), /days/);
  await assert.rejects(clock.advance({ days: -1 }), /The clock moves forward only/);
});

test('a description that is wrong is refused with the path, and leaves no namespace', async () => {
  await assert.rejects(
    startNamespace({ queues: [{ name: 'orders', lockDuration: 'PT1H' }] }),
    /queues\[0\]\.lockDuration: .*'5' minutes/,
  );
  await assert.rejects(startNamespace({ queue: ['orders'] } as never), /queue.*queues/);
});

test('messages of an entity that does not exist is refused', async () => {
  const { messages } = bound(await started());
  await assert.rejects(messages('orders'), /orders.*could not be found/);
  await assert.rejects(messages('/orders/'), /is no path of an entity/);
});

test('a configuration of the emulator works in place of a description, and sessions are shown', async () => {
  const Queues = [{ Name: 'invoices', Properties: { RequiresSession: true } }];
  const { client, messages } = bound(
    await started({ UserConfig: { Namespaces: [{ Name: 'sbemulatorns', Queues }] } }),
  );
  const sender = client.createSender('invoices');
  await sender.sendMessages(['a', 'b', 'a'].map((sessionId) => ({ body: sessionId, sessionId })));
  const shown = (await messages('invoices')).map(({ sessionId }) => sessionId);
  assert.deepEqual(shown.sort(), ['a', 'a', 'b']);
});

test('a date that a test sets does not matter', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  const { clock, messages } = bound(await started({ queues: ['orders'] }));
  assert.deepEqual(await messages('orders'), []);
  assert.ok((await clock.advance({ days: 1 })).getTime() > Date.UTC(2026, 0));
});

test('the API needs no fetch, which environments of tests replace', async (t) => {
  t.mock.method(globalThis, 'fetch', () => assert.fail('fetch is called'));
  const { clock } = await started({ queues: ['orders'] });
  assert.ok((await clock.now()) instanceof Date);
});

test('dispose stops a namespace, after which its calls reject and its entities are gone', async () => {
  const bus = await startNamespace({ queues: ['orders'] });
  await bus[Symbol.asyncDispose]();
  await bus.stop();
  const STOPPED = /The namespace has been stopped\. Start another one/;
  await assert.rejects(bus.messages('orders'), STOPPED);
  await assert.rejects(bus.reset(), STOPPED);
  await assert.rejects(bus.clock.advance({ days: 1 }), STOPPED);

  const client = new ServiceBusClient(bus.connectionString);
  after(() => client.close());
  await assert.rejects(client.createSender('orders').sendMessages({ body: 1 }), /orders/);
});

test('plain mistakes are explained', async () => {
  const { clock, messages } = bound(await started());
  await assert.rejects(clock.advanceTo('tomorrow'), /'tomorrow' is not an instant/);
  assert.ok((await clock.advanceTo('2035-01-01T00:00:00Z')).getTime() >= Date.UTC(2035, 0));
  await assert.rejects(clock.advance({ days: '1' } as never), /is not a duration/);
  await assert.rejects(clock.advance(undefined as never), /is not a duration/);
  await assert.rejects(messages(undefined as never), /undefined/);
  const wrong = [new Map(), new Set(['orders'])].map((queues) => ({ queues }) as never);
  for (const description of [...wrong, null as never]) {
    await assert.rejects(startNamespace(description), /must be an (?:array|object)/);
  }
  await assert.rejects(startNamespace({ queues: [1n] } as never), /cannot be written as JSON/);
});

/** The members of a namespace, so that a test can take them apart. */
function bound<Bus extends TestNamespace>(bus: Bus) {
  return {
    ...bus,
    clock: bus.clock,
    messages: (path: string) => bus.messages(path),
    reset: () => bus.reset(),
  };
}
