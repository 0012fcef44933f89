import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { ask, comesTrue, message, Q, startProcess } from '../../support/composed-process.ts';
import { startPauses } from '../../support/pause-client.ts';
import { sortKeyHook } from '../../support/sort-key-hook.ts';

/** Receives that share a claim, of which a part fails, hangs or is too large. */

const RECEIVERS = 30;

test('#2 of two receive-and-deletes at the same time, one hears that its outcome is unknown if the answer of its removal is lost', async (t) => {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client });
  await management.create('q', { kind: 'queue' });
  // Blocks of their own.
  for (const text of ['a', 'b']) await broker.send(Q, [message(text)]);
  pauses.loseNextAnswer(({ command }) => command === 'DeleteItemCommand');
  const mode = 'receiveAndDelete';
  const results = await Promise.all([0, 1].map(() => resultOf(broker.receive(Q, ask({ mode })))));
  const got = results.flatMap((result) => ('error' in result ? [] : result.value));
  const refusals = results.filter((result) => 'error' in result);
  const left = await broker.peek(Q, { maxMessages: 10 });
  assert.deepEqual([got.length, refusals.length, left.length], [1, 1, 0]);
});

test('one query without an answer does not stop the receives that call later', async (t) => {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client });
  await management.create('q', { kind: 'queue' });
  await broker.send(
    Q,
    Array.from({ length: 4 * RECEIVERS }, (_, i) => message(String(i))),
  );
  const hung = pauses.pauseNext(({ command }) => command === 'QueryCommand');
  const receiveAll = () => Array.from({ length: RECEIVERS }, () => broker.receive(Q, ask()));
  const first = receiveAll();
  await hung.reached;
  const later = receiveAll();
  let isAnswered = false;
  void Promise.any(later).then(() => {
    isAnswered = true;
  });
  const wasAnswered = await comesTrue(() => isAnswered);
  hung.goOn();
  await Promise.all([...first, ...later]);
  assert.ok(wasAnswered);
});

const TAKING = { peekLock: 'UpdateItemCommand', receiveAndDelete: 'DeleteItemCommand' } as const;

for (const mode of ['peekLock', 'receiveAndDelete'] as const) {
  test(`${mode}: one block whose write has no answer holds up its own receiver only`, async (t) => {
    const callers = 8;
    const pauses = startPauses();
    const { client } = pauses;
    t.after(() => client.destroy());
    const { broker, management } = await startProcess(t, { client });
    await management.create('q', { kind: 'queue' });
    // Blocks of their own.
    for (let i = 0; i < callers; i++) await broker.send(Q, [message(String(i))]);
    const hung = pauses.pauseNext(({ command }) => command === TAKING[mode]);
    let answered = 0;
    const calls = Array.from({ length: callers }, async () => {
      const got = await broker.receive(Q, ask({ mode }));
      answered++;
      return got.map(({ sequenceNumber }) => sequenceNumber);
    });
    await hung.reached;
    const areAnswered = await comesTrue(() => answered === callers - 1);
    hung.goOn();
    const got = (await Promise.all(calls)).flat();
    assert.ok(areAnswered);
    assert.deepEqual(new Set(got).size, callers);
  });
}

test('receivers of a busy queue lock a message that only a lone answer can carry before most of those behind it', async (t) => {
  const answer = { form: 'batch', bytes: 8 * 1024 * 1024, oneMayExceed: true } as const;
  const callers = 8;
  const small = 200;
  const got: number[] = [];
  let lockedAfter: number | undefined;
  const client = sortKeyHook(1n, () => {
    lockedAfter ??= got.length;
  });
  t.after(() => client.destroy());
  const memoryBytes = 2_000_000_000;
  const { broker, management } = await startProcess(t, {
    client,
    memoryBytes,
    scheduler: realScheduler,
  });
  await management.create('q', { kind: 'queue', maxMessageSizeInKilobytes: 102_400 });
  // More than 8 MB in JSON.
  const [first] = await broker.send(Q, [message('', { body: Buffer.alloc(7_000_000) })]);
  assert.equal(first?.sequenceNumber, 1n);
  for (let i = 0; i < small / 10; i++) {
    await broker.send(
      Q,
      Array.from({ length: 10 }, () => message('small')),
    );
  }
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (;;) {
        const [one] = await broker.receive(Q, ask({ answer }));
        if (one === undefined) break;
        got.push(Number(one.sequenceNumber));
      }
    }),
  );
  assert.equal(got.length, small + 1);
  assert.ok(lockedAfter !== undefined && lockedAfter < 2 * callers, `after ${lockedAfter} others`);
});
