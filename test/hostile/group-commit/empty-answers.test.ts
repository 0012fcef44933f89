import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { ask, comesTrue, message, Q, startProcess, turns } from '../../support/composed-process.ts';
import { throttled } from '../../support/hooked-client.ts';
import { startPauses } from '../../support/pause-client.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { receiveWhileOneGivesUp, sendLarge } from './one-gives-up.ts';

/** Receives that must not be answered empty, and one that must. */

test('#15 of two receivers of a large message and a small one, none is answered empty', async (t) => {
  const { broker, management } = await startProcess(t, { memoryBytes: 2_000_000_000 });
  await management.create('q', { kind: 'queue' });
  for (let i = 0; i < 5; i++) {
    await broker.send(Q, [message('', { body: Buffer.alloc(100_000) })]);
    await broker.send(Q, [message('small')]);
    const got = await Promise.all([0, 1].map(() => broker.receive(Q, ask())));
    assert.deepEqual(
      got.map(({ length }) => length),
      [1, 1],
    );
  }
});

test('#15 a receiver is not answered empty if the claim that held back the only message fails while it looks for due messages', async (t) => {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  client.config.maxAttempts = async () => 1;
  let fail = () => {};
  const failed = new Promise<void>((resolve) => {
    fail = resolve;
  });
  const scheduler = new VirtualTime();
  const { broker, management } = await startProcess(t, { client, scheduler });
  await management.create('q', { kind: 'queue' });
  await broker.send(Q, [message('a')]);
  let writes = 0;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName === 'UpdateItemCommand' && writes++ === 0) {
          await failed;
          throw throttled();
        }
        return await next(args);
      },
    { step: 'initialize', name: 'fails', priority: 'high' },
  );
  const busy = resultOf(broker.receive(Q, ask()));
  assert.ok(await comesTrue(() => writes > 0));
  // From now on it is not known whether scheduled messages have come due.
  scheduler.skip(1200);
  const due = pauses.pauseNextAnswer(({ command }) => command === 'GetItemCommand');
  const other = broker.receive(Q, ask());
  await due.reached;
  const queries = () => pauses.requests.filter(({ command }) => command === 'QueryCommand').length;
  assert.ok(await comesTrue(() => queries() > 1));
  // The answer to that query.
  await turns(200);
  fail();
  assert.ok('error' in (await busy));
  due.goOn();
  assert.equal((await other).length, 1);
});

test('no message is removed for a receiver that left before its block was written', async (t) => {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client, memoryBytes: 2_000_000_000 });
  await management.create('q', { kind: 'queue' });
  for (let i = 0; i < 2; i++) {
    await sendLarge(broker);
  }
  await receiveWhileOneGivesUp(broker, pauses);
  assert.equal((await broker.peek(Q, { maxMessages: 10 })).length, 1);
});
