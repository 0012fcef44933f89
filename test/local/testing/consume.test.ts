import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { ServiceBusClient } from '@azure/service-bus';
import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import {
  type PushedEvent,
  startNamespace,
  type TestNamespace,
} from '../../../local/testing/testing.ts';

/** Functions that get the messages of a test's namespace, as a consumer of a deployment calls them. */

/** Starts a namespace that is deleted after the tests of this file. */
async function started(
  ...args: Parameters<typeof startNamespace>
): Promise<{ readonly bus: TestNamespace; readonly client: ServiceBusClient }> {
  const bus = await startNamespace(...args);
  const client = new ServiceBusClient(bus.connectionString);
  after(async () => {
    await client.close();
    await bus.stop();
  });
  return { bus, client };
}

/** Collects what a handler gets until there is enough of it. */
function collector<Item>(count: number) {
  const items: Item[] = [];
  let finish = () => {};
  const enough = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const add = (...more: Item[]) => {
    items.push(...more);
    if (items.length >= count) finish();
  };
  return { items, add, enough };
}

/** Resolves once an entity has so many messages. */
async function untilHas(bus: TestNamespace, path: string, count: number) {
  for (;;) {
    const messages = await bus.messages(path);
    if (messages.length === count) return messages;
  }
}

test('a message that is sent calls the function, and is complete when it returns', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  const { items, add, enough } = collector<PushedEvent['Records'][number]>(1);
  await bus.consume('orders', async ({ Records }) => add(...Records));
  await client.createSender('orders').sendMessages({
    body: { order: 7 },
    messageId: 'o-7',
    applicationProperties: { kind: 'gift' },
  });
  await enough;
  const [record] = items;
  assert.deepEqual(JSON.parse(record?.body ?? ''), { order: 7 });
  assert.equal(record?.messageId, '1');
  assert.equal(record?.messageAttributes['MessageId']?.stringValue, 'o-7');
  assert.equal(record?.messageAttributes['kind']?.stringValue, 'gift');
  assert.equal(record?.eventSourceARN, 'arn:aws:dynabus:us-east-1:000000000000:orders');
  await untilHas(bus, 'orders', 0);
});

test('messages that were there before are pushed, in batches', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  await client.createSender('orders').sendMessages([1, 2, 3, 4, 5].map((body) => ({ body })));
  const { items, add, enough } = collector<number>(5);
  const sizes: number[] = [];
  const handler = ({ Records }: PushedEvent) => {
    sizes.push(Records.length);
    add(...Records.map(({ body }) => Number(body)));
  };
  await bus.consume('orders', handler, { maxBatch: 2, maxConcurrency: 1 });
  await enough;
  assert.deepEqual(items, [1, 2, 3, 4, 5]);
  assert.ok(Math.max(...sizes) <= 2);
});

test('a function that throws gets the message again, later each time, until it is a dead letter', async () => {
  const { bus, client } = await started({ queues: [{ name: 'orders', maxDeliveryCount: 3 }] });
  const counts: string[] = [];
  let called = () => {};
  const next = () =>
    new Promise<void>((resolve) => {
      called = resolve;
    });
  const first = next();
  await bus.consume('orders', ({ Records }) => {
    counts.push(...Records.map(({ attributes }) => attributes.ApproximateReceiveCount));
    called();
    throw new Error('No.');
  });
  await client.createSender('orders').sendMessages({ body: 1 });
  await first;
  // No waiting: the clock moves over each delay.
  while (counts.length < 3) {
    const again = next();
    await bus.clock.advance({ minutes: 5 });
    await again;
  }
  const [dead] = await untilHas(bus, 'orders/$deadletterqueue', 1);
  assert.equal(dead?.deadLetterReason, 'MaxDeliveryCountExceeded');
  assert.deepEqual(counts, ['1', '2', '3']);
});

test('a function answers for each message what becomes of it', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  const handler = ({ Records }: PushedEvent) => ({
    batchItemFailures: Records.flatMap(({ messageId, body }) => {
      if (body === '2') return [{ itemIdentifier: messageId, action: 'deadLetter', reason: 'Bad' }];
      return body === '3' ? [{ itemIdentifier: messageId, action: 'defer' }] : [];
    }),
  });
  await client.createSender('orders').sendMessages([1, 2, 3].map((body) => ({ body })));
  await bus.consume('orders', handler);
  const [dead] = await untilHas(bus, 'orders/$deadletterqueue', 1);
  assert.equal(dead?.deadLetterReason, 'Bad');
  const [deferred] = await untilHas(bus, 'orders', 1);
  assert.equal(deferred?.state, 'deferred');
});

test('messages of a session come in order, one batch at a time, and other sessions meanwhile', async () => {
  const { bus, client } = await started({ queues: [{ name: 'carts', requiresSession: true }] });
  const running = new Set<string>();
  const got = new Map<string, number[]>();
  const { add, enough } = collector<number>(20);
  let most = 0;
  await bus.consume(
    'carts',
    async ({ Records }) => {
      const session = Records[0]?.attributes.MessageGroupId ?? '';
      assert.ok(Records.every(({ attributes }) => attributes.MessageGroupId === session));
      assert.ok(!running.has(session), 'two batches of a session at once');
      running.add(session);
      most = Math.max(most, running.size);
      await new Promise((resolve) => setImmediate(resolve));
      const known = got.get(session) ?? [];
      got.set(session, [...known, ...Records.map(({ body }) => Number(body))]);
      running.delete(session);
      add(...Records.map(({ body }) => Number(body)));
    },
    { maxBatch: 3 },
  );
  const sender = client.createSender('carts');
  for (let i = 0; i < 10; i++) {
    await sender.sendMessages(['a', 'b'].map((sessionId) => ({ body: i, sessionId })));
  }
  await enough;
  const order = Array.from({ length: 10 }, (_, i) => i);
  assert.deepEqual([got.get('a'), got.get('b')], [order, order]);
  assert.ok(most <= 2);
});

test('scheduled messages are pushed when they come due', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  const { items, add, enough } = collector<string>(1);
  await bus.consume('orders', ({ Records }) => add(...Records.map(({ body }) => body)));
  const due = new Date((await bus.clock.now()).getTime() + 86_400_000);
  await client.createSender('orders').scheduleMessages({ body: 'later' }, due);
  assert.deepEqual(items, []);
  await bus.clock.advance({ days: 1 });
  await enough;
  assert.deepEqual(items, ['"later"']);
});

test('a handler of Lambda with the batch utility of Powertools runs as it is', async () => {
  const { bus, client } = await started({ queues: [{ name: 'orders', maxDeliveryCount: 1 }] });
  const processor = new BatchProcessor(EventType.SQS);
  const work = async ({ body }: SQSRecord) => {
    if (body === '2') throw new Error('Two.');
  };
  const handler = async (event: SQSEvent, context: Context) => {
    assert.ok(context.getRemainingTimeInMillis() > 0);
    return await processPartialResponse(event, work, processor, { context });
  };
  await client.createSender('orders').sendMessages([1, 2, 3].map((body) => ({ body })));
  await bus.consume('orders', handler);
  const [dead] = await untilHas(bus, 'orders/$deadletterqueue', 1);
  assert.equal(dead?.body, 2);
  await untilHas(bus, 'orders', 0);
});

test('a subscription and a dead-letter queue have consumers, and a stopped one gets nothing', async () => {
  const { bus, client } = await started({ topics: [{ name: 'news', subscriptions: ['all'] }] });
  const first = collector<string>(1);
  const consumption = await bus.consume('news/subscriptions/all', ({ Records }) => {
    first.add(...Records.map(({ body }) => body));
    return {
      batchItemFailures: Records.map(({ messageId }) => ({
        itemIdentifier: messageId,
        action: 'deadLetter',
      })),
    };
  });
  const dead = collector<string>(1);
  await bus.consume('news/subscriptions/all/$deadletterqueue', ({ Records }) =>
    dead.add(...Records.map(({ body }) => body)),
  );
  await client.createSender('news').sendMessages({ body: 1 });
  await Promise.all([first.enough, dead.enough]);
  await untilHas(bus, 'news/subscriptions/all/$deadletterqueue', 0);
  await consumption.stop();
  await client.createSender('news').sendMessages({ body: 2 });
  await untilHas(bus, 'news/subscriptions/all', 1);
  assert.deepEqual([first.items, dead.items], [['1'], ['1']]);
});

test('a function that sends on what it gets to its own queue ends after 16 rounds', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  const sender = client.createSender('orders');
  let rounds = 0;
  await bus.consume('orders', async ({ Records }) => {
    for (const { messageAttributes } of Records) {
      rounds++;
      assert.ok(rounds <= 16);
      const hops = Number(messageAttributes['dynabus-hops']?.stringValue);
      await sender.sendMessages({
        body: 'round',
        applicationProperties: { 'dynabus-hops': hops },
      });
    }
  });
  await sender.sendMessages({ body: 'round' });
  const [dead] = await untilHas(bus, 'orders/$deadletterqueue', 1);
  assert.equal(dead?.deadLetterReason, 'TooManyHops');
  assert.equal(rounds, 16);
  // Who looks after dead letters gets it.
  const { items, add, enough } = collector<string>(1);
  await bus.consume('orders/$deadletterqueue', ({ Records }) => add(...Records.map((r) => r.body)));
  await enough;
  assert.deepEqual(items, ['"round"']);
});

test('a function gets messages after a reset, too', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  const { items, add, enough } = collector<string>(2);
  const first = collector<string>(1);
  await bus.consume('orders', ({ Records }) => {
    add(...Records.map(({ body }) => body));
    first.add('');
  });
  const sender = client.createSender('orders');
  await sender.sendMessages({ body: 1 });
  await first.enough;
  await bus.reset();
  await sender.sendMessages({ body: 2 });
  await enough;
  assert.deepEqual(items, ['1', '2']);
});

test('consumers with one name get the messages of their own queues', async () => {
  const { bus, client } = await started({ queues: ['orders', 'bills'] });
  const { items, add, enough } = collector<readonly [queue: string, body: string]>(2);
  for (const queue of ['orders', 'bills']) {
    const handler = ({ Records }: PushedEvent) => {
      for (const { body } of Records) add([queue, body]);
    };
    await bus.consume(queue, handler, { name: 'worker' });
  }
  await client.createSender('orders').sendMessages({ body: 1 });
  await client.createSender('bills').sendMessages({ body: 2 });
  await enough;
  assert.deepEqual(
    new Map(items),
    new Map([
      ['orders', '1'],
      ['bills', '2'],
    ]),
  );
});

test('a function that takes the place of another one stays when that one is stopped, and after a reset', async () => {
  const { bus, client } = await started({ queues: ['orders'] });
  const { items, add, enough } = collector<string>(1);
  const settings = { name: 'worker' };
  const former = await bus.consume('orders', () => add('former'), settings);
  await bus.consume('orders', () => add('latter'), settings);
  await former.stop();
  await bus.reset();
  await client.createSender('orders').sendMessages({ body: 1 });
  await enough;
  assert.deepEqual(items, ['latter']);
});

test('a missing entity and a wrong setting are told', async () => {
  const { bus } = await started({ queues: ['orders'] });
  await assert.rejects(
    bus.consume('missing', () => {}),
    /could not be found/,
  );
  await assert.rejects(
    bus.consume('orders', () => {}, { maxBatch: 1001 }),
    /maxBatch/,
  );
});
