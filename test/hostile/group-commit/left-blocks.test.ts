import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { ask, comesTrue, message, Q, startProcess, turns } from '../../support/composed-process.ts';
import { throttled } from '../../support/hooked-client.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { startPauses } from '../../support/pause-client.ts';
import { sortKeyHook } from '../../support/sort-key-hook.ts';
import { engineClient } from '../../support/start-broker.ts';
import { receiveWhileOneGivesUp, sendLarge } from './one-gives-up.ts';

/** What a shared claim leaves without a write, and what it plans for its callers. */

/** More blocks than one claim writes at a time. */
const CALLERS = 40;

/** Receivers of a message each share a claim, whose first write has no answer; `onSecond` runs before the second. */
async function startHung(t: TestContext, onSecond: (clock: ManualClock) => void) {
  const client = engineClient();
  t.after(() => client.destroy());
  const clock = new ManualClock();
  let goOn = () => {};
  const hung = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let writes = 0;
  let isArmed = false;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (isArmed && commandName === 'UpdateItemCommand') {
          writes++;
          if (writes === 1) await hung;
          else if (writes === 2) onSecond(clock);
        }
        return await next(args);
      },
    { step: 'initialize', name: 'first', priority: 'high' },
  );
  const { broker, management } = await startProcess(t, {
    client,
    clock,
    memoryBytes: 2_000_000_000,
  });
  await management.create('q', { kind: 'queue' });
  for (let i = 0; i < CALLERS; i++) await broker.send(Q, [message(String(i))]);
  isArmed = true;
  return { broker, goOn };
}

test('callers whose blocks a claim left after a pause do not wait for another block without an answer', async (t) => {
  // More than a quarter of a lock's duration.
  const { broker, goOn } = await startHung(t, (clock) => clock.advance({ seconds: 20 }));
  const answers: (readonly ReceivedMessage[])[] = [];
  const calls = Array.from({ length: CALLERS }, async () => {
    answers.push(await broker.receive(Q, ask()));
  });
  const areAnswered = await comesTrue(() => answers.length === CALLERS - 1);
  const answered = answers.length;
  goOn();
  await Promise.all(calls);
  assert.ok(areAnswered, `${answered} are answered`);
});

test('messages of callers that all gave up are free for others while a block has no answer', async (t) => {
  const gone = new AbortController();
  const { broker, goOn } = await startHung(t, () => gone.abort());
  const calls = Array.from({ length: CALLERS }, () =>
    broker.receive(Q, ask({ signal: gone.signal })),
  );
  let got = 0;
  const stop = new AbortController();
  assert.ok(await comesTrue(() => gone.signal.aborted));
  await turns(50);
  const others = (async () => {
    while (!stop.signal.aborted) {
      got += (await broker.receive(Q, ask({ maxMessages: 1, waitMs: 1000 }))).length;
      await turns(1);
    }
  })();
  const areReceived = await comesTrue(() => got === CALLERS - 1);
  const received = got;
  stop.abort();
  goOn();
  await Promise.all(calls);
  await others;
  assert.ok(areReceived, `${received} are received`);
});

test('a receiver that gives up does not make later receives leave the front of the queue', async (t) => {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client, memoryBytes: 2_000_000_000 });
  await management.create('q', { kind: 'queue' });
  for (let round = 0; round < 4; round++) {
    await sendLarge(broker);
    await receiveWhileOneGivesUp(broker, pauses);
    const options = ask({ mode: 'receiveAndDelete' });
    for (let i = 0; i < 10; i++) await broker.send(Q, [message(String(i))]);
    const order: number[] = [];
    for (let i = 0; i < 10; i++) {
      const [got] = await broker.receive(Q, options);
      order.push(Number(Buffer.from(got?.message.body ?? '').toString()));
    }
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
});

test('no caller of a shared claim gets more bytes than one receive may', async (t) => {
  const { broker, management } = await startProcess(t, { memoryBytes: 2_000_000_000 });
  await management.create('q', { kind: 'queue' });
  const big = Buffer.alloc(60_000);
  for (let i = 0; i < 240; i++) {
    await broker.send(Q, [message('s', i % 3 === 0 ? {} : { body: big })]);
  }
  const got = await Promise.all([0, 1, 2].map(() => broker.receive(Q, ask({ maxMessages: 100 }))));
  const bytes = got.map((messages) =>
    messages.reduce((sum, { message: { body } }) => sum + body.byteLength, 0),
  );
  assert.ok(Math.max(...bytes) <= 3 * 1024 * 1024, `${bytes}`);
});

/** Two processes; in one of them the lock of the only message has no answer. */
async function startHungLock(t: TestContext) {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  const { broker, management, clock, namespace } = await startProcess(t, { client });
  const other = (await startProcess(t, { clock, namespace })).broker;
  await management.create('q', { kind: 'queue' });
  await broker.send(Q, [message('a')]);
  const hung = pauses.pauseNext(({ command }) => command === 'UpdateItemCommand');
  const first = broker.receive(Q, ask());
  await hung.reached;
  const queries = () => pauses.requests.filter(({ command }) => command === 'QueryCommand').length;
  return { broker, other, hung, first, queries };
}

test('a receive that waits behind a block without an answer finds what another process sends', async (t) => {
  const { broker, other, hung, first, queries } = await startHungLock(t);
  const before = queries();
  let got: readonly ReceivedMessage[] | undefined;
  const second = broker.receive(Q, ask({ waitMs: 50_000 })).then((messages) => {
    got = messages;
  });
  assert.ok(await comesTrue(() => queries() > before));
  await turns(200);
  await other.send(Q, [message('b')]);
  const isAnswered = await comesTrue(() => got !== undefined);
  hung.goOn();
  await Promise.all([first, second]);
  assert.ok(isAnswered);
});

test('one block without an answer does not stop a queue whose messages another process sends', async (t) => {
  const { broker, other, hung, first, queries } = await startHungLock(t);
  const gone = new AbortController();
  const calls = [resultOf(first)];
  for (let i = 0; i < 20; i++) {
    const before = queries();
    calls.push(resultOf(broker.receive(Q, ask())));
    // Its group looks once the last one is stalled.
    assert.ok(await comesTrue(() => queries() > before));
  }
  await other.send(Q, [message('b')]);
  // Some of the first may still look, and get it.
  let got = 0;
  const later = broker.receive(Q, ask({ waitMs: 50_000, signal: gone.signal }));
  for (const call of [...calls.slice(1), resultOf(later)]) {
    void call.then((result) => {
      if (!('error' in result)) got += result.value.length;
    });
  }
  const isReceived = await comesTrue(() => got > 0);
  hung.goOn();
  gone.abort();
  await Promise.all([...calls, later]);
  assert.ok(isReceived);
});

test('a caller whose block cannot be written hears that, while others get messages', async (t) => {
  const client = sortKeyHook(1n, () => {
    failures++;
    throw throttled();
  });
  let failures = 0;
  client.config.maxAttempts = async () => 1;
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client });
  await management.create('q', { kind: 'queue' });
  for (let i = 0; i < 150; i++) await broker.send(Q, [message(String(i))]);
  let got = 0;
  let answeredAfter: number | undefined;
  let isOver = false;
  const unlucky = resultOf(broker.receive(Q, ask())).then(() => {
    answeredAfter = got;
  });
  const others = [0, 1, 2].map(async () => {
    while (!isOver && got < 120) {
      const result = await resultOf(broker.receive(Q, ask()));
      if (!('error' in result)) got += result.value.length;
    }
  });
  await Promise.all(others);
  isOver = true;
  await unlucky;
  assert.ok((answeredAfter ?? 0) < 30, `after ${answeredAfter} others, ${failures} failures`);
});
