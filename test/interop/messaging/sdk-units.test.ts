import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import type { Units } from '../../../shared/storage/dynamodb/capacity-meter.ts';
import { ApiClient } from '../../support/api-client.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { newQueue, receive } from './bus-entities.ts';
import { type ConnectedBus, withBus } from './service-bus-clients.ts';

/** Write units that a message may cost from its sending to its completion, as over HTTP. */
const WRITE_UNITS_MAX = 0.35;
const COUNT = 100;
/** Blocks in which so many small messages lie: 34 in each. */
const BLOCKS = 3;
/** 200 bytes as JSON. */
const BODY = { text: 'x'.repeat(189) };
const BATCH_TYPE = 'application/vnd.microsoft.servicebus.json';
const LONG_LOCKS = { lockDuration: 'PT5M' };

interface Passage {
  readonly sent: Units;
  readonly received: Units;
  readonly completed: Units;
}

const messages = Array.from({ length: COUNT }, () => ({ body: BODY }));

/** The same by two calls and a settlement over HTTP. */
async function passOverHttp(bus: ConnectedBus): Promise<Passage> {
  const { name } = await newQueue(bus, LONG_LOCKS);
  const http = new ApiClient(`http://localhost:${bus.namespace.port}`, ROOT_KEY);
  const call = async (path: string, type: string, body: unknown) => {
    const headers = { 'Content-Type': type };
    return await http.request('POST', path, { headers, body: JSON.stringify(body) });
  };
  const text = JSON.stringify(BODY);
  const sent = await bus.namespace.units(() =>
    call(`${name}/messages`, BATCH_TYPE, Array(COUNT).fill({ Body: text })),
  );
  let locks: { BrokerProperties: { LockToken: string } }[] = [];
  const received = await bus.namespace.units(async () => {
    const answer = await http.request('POST', `${name}/messages/head?maxMessages=${COUNT}`);
    locks = JSON.parse(answer.text);
  });
  assert.equal(locks.length, COUNT);
  const settlements = locks.map(({ BrokerProperties: { LockToken } }) => ({
    lockToken: LockToken,
    outcome: 'complete',
  }));
  const completed = await bus.namespace.units(() =>
    call(`${name}/messages/$settle`, 'application/json', { settlements }),
  );
  return { sent, received, completed };
}

const writesOf = ({ sent, received, completed }: Passage) =>
  sent.write + received.write + completed.write;

/** Lets a handler have all messages; it completes them as it likes. */
async function subscribe(
  receiver: ServiceBusReceiver,
  handle: (message: ServiceBusReceivedMessage) => Promise<void>,
): Promise<void> {
  let left = COUNT;
  await new Promise<void>((resolve, reject) => {
    receiver.subscribe(
      {
        processMessage: async (message) => {
          await handle(message);
          left--;
          if (left === 0) resolve();
        },
        processError: async ({ error }) => reject(error),
      },
      { maxConcurrentCalls: COUNT, autoCompleteMessages: false },
    );
  });
  await receiver.close();
}

withBus('what the clients cost', (bus) => {
  test('a batch that is sent, received and completed costs what it costs over HTTP', async (t) => {
    const overHttp = await passOverHttp(bus);
    const { sender, receiver } = await newQueue(bus, LONG_LOCKS);
    // Opens the link.
    await sender.createMessageBatch();
    const { units } = bus.namespace;
    const sent = await units(() => sender.sendMessages(messages));
    let got: readonly ServiceBusReceivedMessage[] = [];
    const received = await units(async () => {
      got = await receive(receiver, COUNT);
    });
    assert.equal(got.length, COUNT);
    const completed = await units(() =>
      Promise.all(got.map((message) => receiver.completeMessage(message))),
    );
    const writes = writesOf({ sent, received, completed });
    t.diagnostic(`${writes} write units, ${writesOf(overHttp)} over HTTP`);
    assert.ok(writes <= WRITE_UNITS_MAX * COUNT, `${writes} write units`);
    // The envelope of a body takes a few bytes.
    assert.ok(writes <= writesOf(overHttp) + BLOCKS, `${writes} write units`);
    assert.ok(sent.requests <= overHttp.sent.requests, `${sent.requests} requests`);
    assert.equal(received.write, BLOCKS);
    assert.ok(completed.requests <= overHttp.completed.requests, `${completed.requests} requests`);
  });

  test('many that are sent one by one at once cost no more than a batch', async (t) => {
    const { sender } = await newQueue(bus);
    await sender.createMessageBatch();
    const batch = await bus.namespace.units(() => sender.sendMessages(messages));
    const singly = await bus.namespace.units(() =>
      Promise.all(messages.map((message) => sender.sendMessages(message))),
    );
    t.diagnostic(`${singly.write} write units in ${singly.requests} requests`);
    // What comes first need not wait for the others, so it may be two batches.
    assert.ok(singly.write <= batch.write + BLOCKS, `${singly.write} write units`);
    assert.ok(singly.requests <= 2 * batch.requests, `${singly.requests} requests`);
  });

  test('more than the link has credit for at a time are sent without a pause', async () => {
    const { sender } = await newQueue(bus);
    await sender.createMessageBatch();
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 900 }, (_, body) => sender.sendMessages({ body })));
    // A client without credit looks again after a second, and then after half a minute.
    assert.ok(performance.now() - startedAt < 15_000);
  });

  test('a subscriber whose handlers end together writes each block once', async (t) => {
    const { sender, receiver } = await newQueue(bus, LONG_LOCKS);
    await sender.sendMessages(messages);
    const begun: ServiceBusReceivedMessage[] = [];
    let allBegun = () => {};
    const barrier = new Promise<void>((resolve) => {
      allBegun = resolve;
    });
    const all = await bus.namespace.units(() =>
      subscribe(receiver, async (message) => {
        begun.push(message);
        if (begun.length === COUNT) allBegun();
        await barrier;
        await receiver.completeMessage(message);
      }),
    );
    t.diagnostic(`${all.write} write units in ${all.requests} requests`);
    // Claimed and deleted: each block, and its payload.
    assert.ok(all.write <= (WRITE_UNITS_MAX / 2) * COUNT, `${all.write} write units`);
  });

  test('a subscriber whose handlers end in turns of ten writes the blocks of each turn', async (t) => {
    const { sender, receiver } = await newQueue(bus, LONG_LOCKS);
    await sender.sendMessages(messages);
    const TURN = 10;
    const turns: (() => void)[] = [];
    const waiting: Promise<void>[] = Array.from(
      { length: COUNT / TURN },
      () => new Promise((resolve) => turns.push(resolve)),
    );
    turns[0]?.();
    let begun = 0;
    let ended = 0;
    const all = await bus.namespace.units(() =>
      subscribe(receiver, async (message) => {
        await waiting[Math.floor(begun++ / TURN)];
        await receiver.completeMessage(message);
        ended++;
        if (ended % TURN === 0) turns[ended / TURN]?.();
      }),
    );
    t.diagnostic(`${all.write} write units in ${all.requests} requests`);
    // A turn lies in two blocks at most.
    assert.ok(all.write <= 2 * (COUNT / TURN) + 6 * BLOCKS, `${all.write} write units`);
  });

  test('a message for one of many who wait makes few of them look', async (t) => {
    const { name, sender } = await newQueue(bus, LONG_LOCKS);
    await sender.createMessageBatch();
    const RECEIVERS = 50;
    let came = () => {};
    const arrived = new Promise<void>((resolve) => {
      came = resolve;
    });
    const receivers = Array.from({ length: RECEIVERS }, () => bus.client.createReceiver(name));
    for (const receiver of receivers) {
      receiver.subscribe({
        processMessage: async () => came(),
        processError: async () => {},
      });
    }
    // Who answers a peek has attached, and so have those before.
    for (const receiver of receivers) await receiver.peekMessages(1);
    const { requests } = await bus.namespace.units(async () => {
      await sender.sendMessages({ body: 'x' });
      await arrived;
    });
    t.diagnostic(`${requests} requests`);
    assert.ok(requests < RECEIVERS / 2, `${requests} requests`);
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });
});
