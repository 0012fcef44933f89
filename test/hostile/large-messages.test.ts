import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { startApp } from '../support/http-fixture.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';

/** Row 7: sending or receiving one large message takes many times its size in memory. */

const MB = 1024 * 1024;
const LARGE = { MaxMessageSizeInKilobytes: '102400' };
const { heldPerSmallReadByte, heldPerReadByte, heldPerPrintedByte } = BUDGETS.request;

test('row 7: a message too large for the memory of the process is refused, both when sent and when received', async (t) => {
  const bus = await startBroker(t, { tier: 'Premium', memoryBytes: 40 * MB });
  expectStatus(await bus.createQueue('q', LARGE), 201);
  const tooLarge = await bus.send('q', new Uint8Array(7 * MB));
  expectStatus(tooLarge, 403);
  assert.match(tooLarge.text, /longer than the service has memory for/);
  expectStatus(await bus.send('q', new Uint8Array(5 * MB).fill(0xff)), 201);
  const peeked = await bus.request('GET', 'q/messages');
  expectStatus(peeked, 403);
  assert.match(peeked.text, /which the service has no memory for in such an answer/);
  assert.match(peeked.text, /go on with fromSequenceNumber=2,/);
  assert.deepEqual(await bus.peek('q', { from: 2 }), []);
  const asJson = await bus.request('POST', 'q/messages/head?maxMessages=1');
  expectStatus(asJson, 403);
  assert.match(asJson.text, /Receive them one by one, without maxMessages/);
  // The message was not locked, and no delivery was counted.
  const received = await bus.peekLock('q');
  assert.equal(received?.broker.DeliveryCount, 1);
  assert.equal(received && (await bus.complete(received)), 200);
});

for (const [form, path, weight] of [
  ['alone', '/q/messages/head', heldPerReadByte],
  ['as JSON', '/q/messages/head?maxMessages=1', heldPerPrintedByte],
] as const) {
  test(`row 7: the memory of a large message received ${form} counts until the answer is sent`, async () => {
    const memory = new MemoryBudget(15 * MB * weight);
    const { call, broker } = startApp({ memory });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    broker.receive = async (_path, { payloads }) => {
      payloads?.hold(10 * MB, 1n);
      // A first query found a message that another receiver took; this is the second.
      payloads?.hold(8 * MB, 1n);
      await finished;
      return [];
    };
    const first = call('POST', path);
    while (memory.held === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(memory.held, 10 * MB * weight);
    const second = await call('POST', path);
    assert.equal(second.status, 503);
    assert.match(await second.text(), /as many messages as it has memory for/);
    finish();
    assert.equal((await first).status, 204);
    assert.equal(memory.held, 0);
  });
}

test('row 7: messages that are received together, even small ones, count until the answer is sent', async () => {
  const memory = new MemoryBudget(15 * MB);
  const { call, broker } = startApp({ memory });
  const waiting: (() => void)[] = [];
  broker.receive = async (_path, { payloads }) => {
    payloads?.hold(2 * MB, 1n);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return [];
  };
  const path = '/q/messages/head?maxMessages=100';
  const answers = Array.from({ length: 5 }, () => call('POST', path));
  while (waiting.length < 3) await new Promise((resolve) => setImmediate(resolve));
  const refused = await Promise.race(answers);
  assert.equal(refused.status, 503);
  assert.equal(memory.held, 3 * 2 * MB * heldPerSmallReadByte);
  for (const goOn of waiting) goOn();
  const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [204, 204, 204, 503, 503]);
  assert.equal(memory.held, 0);
});

test('row 7: large deferred messages count before they are read, and are not locked if refused', async (t) => {
  const bus = await startBroker(t, { tier: 'Premium', memoryBytes: 40 * MB });
  expectStatus(await bus.createQueue('q', LARGE), 201);
  expectStatus(await bus.send('q', new Uint8Array(5 * MB).fill(0xff)), 201);
  const received = await bus.peekLock('q');
  assert.ok(received);
  const lockToken = received.broker.LockToken ?? '';
  const [settled] = await bus.settle('q', [{ lockToken, outcome: 'defer' }]);
  assert.equal(settled?.settled, true);
  const refused = await bus.receiveDeferredRaw('q', [received.broker.SequenceNumber]);
  expectStatus(refused, 403);
  assert.match(refused.text, /which the service has no memory for in such an answer/);
  assert.match(refused.text, /Name fewer messages, or receive them by AMQP/);
  const beside = await startBroker(t, { tier: 'Premium', beside: bus });
  const [deferred] = await beside.receiveDeferred('q', [received.broker.SequenceNumber]);
  assert.equal(deferred?.broker.DeliveryCount, 2);
});

test('row 7: deferred messages that are received count until the answer is sent', async () => {
  const memory = new MemoryBudget(15 * MB * heldPerPrintedByte);
  const { call, broker } = startApp({ memory });
  broker.receiveDeferred = async (_path, { payloads }) => {
    payloads?.hold(10 * MB, 1n);
    assert.equal(memory.held, 10 * MB * heldPerPrintedByte);
    return [];
  };
  const body = JSON.stringify({ sequenceNumbers: [1] });
  assert.equal((await call('POST', '/q/messages/$deferred', { body })).status, 201);
  assert.equal(memory.held, 0);
});

test('row 7: messages that are peeked from several partitions count together', async () => {
  const memory = new MemoryBudget(15 * MB * heldPerPrintedByte);
  const { call, broker } = startApp({ memory });
  broker.peek = async (_path, { payloads }) => {
    for (const bytes of [5 * MB, 4 * MB]) payloads?.hold(bytes, 1n);
    assert.equal(memory.held, 9 * MB * heldPerPrintedByte);
    return [];
  };
  assert.equal((await call('GET', '/q/messages')).status, 200);
  assert.equal(memory.held, 0);
});

test('row 7: a message too large for the memory does not hide messages in other partitions', async (t) => {
  const bus = await startBroker(t, { tier: 'Premium', memoryBytes: 40 * MB });
  expectStatus(await bus.createQueue('q', { ...LARGE, EnablePartitioning: 'true' }), 201);
  const large = new Uint8Array(5 * MB).fill(0xff);
  expectStatus(await bus.send('q', large, { PartitionKey: 'large' }), 201);
  for (let i = 0; i < 16; i++)
    expectStatus(await bus.send('q', 'x', { PartitionKey: `${i}` }), 201);
  for (let i = 0; i < 12; i++) {
    expectStatus(await bus.request('DELETE', 'q/messages/head?maxMessages=1'), 200);
  }
});
