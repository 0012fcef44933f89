import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { writeMessage } from '../../../amqp/messages/write-message.ts';
import { binary, described, mapOf, str } from '../../../amqp/wire/value.ts';
import type { Call, Calls } from '../../../connect/https/calls/caller.ts';
import { Paces } from '../../../connect/https/messages/paces.ts';
import { RemoteReceiving } from '../../../connect/https/messages/receiving.ts';
import type { ReceivedMessage, ReceiveOptions } from '../../../shared/broker/broker.ts';
import { argumentError, unknownOutcome } from '../../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

/** When receivers over HTTP look for messages, and what shares a request. */

const QUEUE = parseEntityPath('q');
const HOUR_MS = 60 * 60_000;
/** Longer than a group waits for company. */
const LINGER_MS = 20;
const ALL = { mode: 'peekLock', maxMessages: 100, waitMs: HOUR_MS } as const;

function message(n: number): ReceivedMessage {
  return {
    message: { body: new Uint8Array(), messageId: `m${n}`, properties: {} },
    sequenceNumber: BigInt(n),
    enqueuedAt: 0,
    failedDeliveries: 0,
    state: 'Active',
    lockToken: `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`,
    lockedUntil: 1,
  };
}

/** A service that has some messages, and counts requests. */
class Service implements Calls {
  readonly calls: Call[] = [];
  messages: readonly ReceivedMessage[] = [];
  /** Requests that get no answer. */
  failures = 0;
  /** The lock token that makes a request wrong. */
  refuses: string | undefined;
  /** Called when a request comes. */
  onCall = () => {};

  async call(call: Call) {
    this.calls.push(call);
    this.onCall();
    if (this.failures > 0) {
      this.failures--;
      throw unknownOutcome();
    }
    if (this.refuses !== undefined && String(call.body).includes(this.refuses)) {
      throw argumentError('A settlement is wrong.');
    }
    const settlements = outcomesOf(call);
    if (call.path.endsWith('/$settle'))
      return answer(Buffer.from(`{"settlements":${settlements}}`));
    const count = Number(call.query?.['maxMessages']);
    const handed = this.messages.slice(0, count);
    this.messages = this.messages.slice(count);
    return answer(
      writeSections({
        ...(settlements !== undefined && {
          applicationProperties: mapOf({ settlements: str(settlements) }),
        }),
        body: handed.map((one) => described(SECTION.data, binary(writeMessage(one)))),
      }),
    );
  }
}

function outcomesOf({ body }: Call): string | undefined {
  if (body === undefined) return undefined;
  const { settlements } = JSON.parse(String(body));
  return JSON.stringify(
    settlements.map(({ lockToken }: { lockToken: string }) => ({ lockToken, settled: true })),
  );
}

function answer(bytes: Buffer) {
  return { status: 200, header: () => undefined, text: bytes.toString(), bytes };
}

function start() {
  const service = new Service();
  const scheduler = new ManualScheduler();
  const background: Promise<void>[] = [];
  const receiving = new RemoteReceiving({
    caller: service,
    entities: { forget: () => {} },
    scheduler,
    paces: new Paces(scheduler),
    background: (work) => background.push(work()),
  });
  const receive = (options: Partial<ReceiveOptions> = {}) =>
    receiving.receive(QUEUE, { ...ALL, ...options });
  return { service, scheduler, receiving, receive, background };
}

const complete = (n: number) =>
  ({ lockToken: lockOf(message(n)), action: { kind: 'complete' } }) as const;

function lockOf(received: ReceivedMessage): string {
  return 'lockToken' in received ? received.lockToken : '';
}

const numbersOf = (messages: readonly ReceivedMessage[]) =>
  messages.map(({ sequenceNumber }) => Number(sequenceNumber));

for (const receivers of [1, 10]) {
  test(`${receivers} idle receivers of a queue look for messages once in 4.5 seconds, together`, async () => {
    const { service, scheduler, receive } = start();
    const waiting = Array.from({ length: receivers }, () => receive());
    await scheduler.pass(HOUR_MS - 1);
    const looks = service.calls.length;
    assert.ok(looks <= 810, `${looks} requests an hour`);
    assert.ok(looks >= 800, `${looks} requests an hour`);
    await scheduler.pass(1);
    assert.deepEqual(await Promise.all(waiting), Array(receivers).fill([]));
  });
}

test('a receiver that found messages looks again at once', async () => {
  const { service, scheduler, receive } = start();
  const first = receive();
  await scheduler.pass(60_000);
  service.messages = [message(1)];
  await scheduler.pass(4_500);
  assert.deepEqual(numbersOf(await first), [1]);
  const before = service.calls.length;
  service.messages = [message(2)];
  assert.deepEqual(numbersOf(await receive()), [2]);
  assert.equal(service.calls.length, before + 1);
});

test('waiting receivers share what one request finds, as evenly as they asked', async () => {
  const { service, receive } = start();
  service.messages = [1, 2, 3, 4, 5, 6, 7].map(message);
  const shares = await Promise.all([
    receive({ maxMessages: 1 }),
    receive({ maxMessages: 100 }),
    receive({ maxMessages: 3 }),
  ]);
  assert.deepEqual(shares.map(numbersOf), [[1], [2, 3, 4], [5, 6, 7]]);
  assert.deepEqual(
    service.calls.map(({ query }) => query?.['maxMessages']),
    [104],
  );
});

test('nothing is left over while some receiver can take it', async () => {
  const { service, receive, background } = start();
  service.messages = [1, 2, 3, 4, 5].map(message);
  const shares = await Promise.all([receive({ maxMessages: 10 }), receive({ maxMessages: 1 })]);
  assert.deepEqual(shares.map(numbersOf), [[1, 2, 3, 4], [5]]);
  assert.deepEqual(background, []);
});

test('messages for a receiver that is gone are put back, and count no delivery', async () => {
  const { service, scheduler, receive } = start();
  service.messages = [message(1), message(2)];
  let isWanted = true;
  const gone = receive({ isWanted: () => isWanted, maxMessages: 1 });
  const stays = receive({ maxMessages: 1 });
  service.onCall = () => {
    isWanted = false;
  };
  await scheduler.pass(LINGER_MS);
  assert.deepEqual([await gone, numbersOf(await stays)], [[], [1]]);
  const last = service.calls.at(-1);
  assert.match(last?.path ?? '', /\$settle$/);
  assert.deepEqual(JSON.parse(String(last?.body)), {
    settlements: [{ lockToken: lockOf(message(2)), outcome: 'abandon', isUncounted: true }],
  });
});

test('messages that were deleted for a receiver that is gone are for the next one', async () => {
  const { service, scheduler, receive } = start();
  const mode = 'receiveAndDelete';
  service.messages = [message(1), message(2), message(3)];
  let isWanted = true;
  service.onCall = () => {
    isWanted = false;
  };
  assert.deepEqual(await receive({ mode, isWanted: () => isWanted }), []);
  assert.deepEqual(numbersOf(await receive({ mode, maxMessages: 2 })), [1, 2]);
  assert.deepEqual(numbersOf(await receive({ mode })), [3]);
  assert.equal(service.calls.length, 1);
  void receive({ mode });
  await scheduler.pass(LINGER_MS);
  assert.equal(service.calls.length, 2);
});

test('so many messages are kept for the next receivers that no more are deleted before', async () => {
  const { service, receiving, receive } = start();
  const mode = 'receiveAndDelete';
  const other = parseEntityPath('other');
  const ask = { ...ALL, mode, waitMs: 0 } as const;
  service.messages = Array.from({ length: 1000 }, (_, i) => message(i + 1));
  let isWanted = true;
  service.onCall = () => {
    isWanted = false;
  };
  assert.deepEqual(await receive({ mode, maxMessages: 1000, isWanted: () => isWanted }), []);
  await assert.rejects(receiving.receive(other, ask), { code: 'ServiceBusy' });
  assert.equal(service.calls.length, 1);
  assert.equal((await receive({ mode, maxMessages: 1000 })).length, 1000);
  assert.deepEqual(await receiving.receive(other, ask), []);
});

for (const mode of ['peekLock', 'receiveAndDelete'] as const) {
  test(`a receive that is aborted while its look brings messages gets them if it wants some: ${mode}`, async () => {
    const { service, receive, background } = start();
    service.messages = [message(1)];
    const abort = new AbortController();
    const draining = receive({ mode, signal: abort.signal, isWanted: () => true });
    service.onCall = () => abort.abort();
    assert.deepEqual(numbersOf(await draining), [1]);
    assert.deepEqual(background, []);
  });
}

test('settlements of a queue go with the next look of its waiting receiver, in one request', async () => {
  const { service, scheduler, receiving, receive } = start();
  const waiting = receive();
  await scheduler.pass(60_000);
  const before = service.calls.length;
  service.messages = [message(3)];
  const [one, two] = await Promise.all([
    receiving.settle(QUEUE, [complete(1)], undefined),
    receiving.settle(QUEUE, [complete(2)], undefined),
  ]);
  assert.deepEqual(
    [one, two].flat().map(({ lockToken }) => lockToken),
    [lockOf(message(1)), lockOf(message(2))],
  );
  assert.deepEqual(numbersOf(await waiting), [3]);
  assert.equal(service.calls.length, before + 1);
});

test('a wrong settlement is refused alone', async () => {
  const { service, receiving, receive } = start();
  service.messages = [message(3)];
  service.refuses = lockOf(message(1));
  const [wrong, right, received] = await Promise.allSettled([
    receiving.settle(QUEUE, [complete(1)], undefined),
    receiving.settle(QUEUE, [complete(2)], undefined),
    receive(),
  ]);
  assert.ok(wrong.status === 'rejected' && wrong.reason.code === 'ArgumentError');
  assert.deepEqual(right, { status: 'fulfilled', value: [{ lockToken: lockOf(message(2)) }] });
  assert.ok(received.status === 'fulfilled');
  assert.deepEqual(numbersOf(received.value), [3]);
});

test('a settlement alone is settled at once', async () => {
  const { service, receiving } = start();
  await receiving.settle(QUEUE, [complete(1)], undefined);
  assert.deepEqual(
    service.calls.map(({ path }) => path),
    ['q/messages/$settle'],
  );
});

test('a completed message does not make idle receivers look more often', async () => {
  const { service, scheduler, receiving, receive } = start();
  void receive();
  await scheduler.pass(60_000);
  const before = service.calls.length;
  for (let n = 0; n < 10; n++) {
    await receiving.settle(QUEUE, [complete(n)], undefined);
    await scheduler.pass(4_500);
  }
  assert.ok(service.calls.length - before <= 21, `${service.calls.length - before} requests`);
});

test('a receiver whose look got no answer looks again', async () => {
  const { service, scheduler, receive } = start();
  service.failures = 1;
  service.messages = [message(1)];
  const waiting = receive();
  await scheduler.pass(1_000);
  assert.deepEqual(numbersOf(await waiting), [1]);
});

test('a receive that does not wait says that the service is busy, not that the queue is empty', async () => {
  const { service, receive } = start();
  service.failures = 1;
  await assert.rejects(receive({ waitMs: 0 }), { code: 'ServiceBusy' });
});

test('an aborted receive ends at once', async () => {
  const { scheduler, receive } = start();
  const abort = new AbortController();
  const waiting = receive({ signal: abort.signal });
  await scheduler.pass(60_000);
  abort.abort();
  assert.deepEqual(await waiting, []);
});
