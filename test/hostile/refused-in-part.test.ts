import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { ask, message, Q, startProcess } from '../support/composed-process.ts';
import { hookedClient, throttled } from '../support/hooked-client.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** "Busy" says that nothing was done; here something was. */

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    assert.ok(error instanceof BrokerError, String(error));
    return error.code;
  }
}

test('accepting the next session is not refused as busy after the session was locked', async (t) => {
  let isThrottled = false;
  const client = hookedClient(({ command }) => {
    if (isThrottled && command === 'DeleteItemCommand') throw throttled();
  });
  t.after(() => client.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client, clock });
  const there = await startProcess(t, { clock, namespace: here.namespace });
  await here.management.create('q', { kind: 'queue', requiresSession: true });
  await here.broker.send(Q, [message('m', { sessionId: 's' })]);
  isThrottled = true;
  const told = await codeOf(here.broker.acceptSession(Q, { waitMs: 0 }));
  isThrottled = false;
  if (told !== 'ServiceBusy') return;
  // Nothing was done, so the session is free.
  const accepted = await there.broker.acceptSession(Q, { waitMs: 0 });
  assert.equal(accepted?.sessionId, 's');
});

test('a receive is not refused as busy after the message was locked', async (t) => {
  let isThrottled = false;
  const client = hookedClient(({ command }) => {
    if (isThrottled && command === 'BatchGetItemCommand') throw throttled();
  });
  t.after(() => client.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client, clock });
  const there = await startProcess(t, { clock, namespace: here.namespace });
  await here.management.create('q', { kind: 'queue', maxDeliveryCount: 1, lockMs: 30_000 });
  await there.broker.send(Q, [message(randomBytes(4000).toString('hex'))]);
  isThrottled = true;
  const told = await codeOf(here.broker.receive(Q, ask()));
  isThrottled = false;
  if (told !== 'ServiceBusy') return;
  clock.advance({ seconds: 31 });
  // Nothing was done, so the message has not used up its only delivery.
  assert.equal((await there.broker.receive(Q, ask())).length, 1);
});

/**
 * Two processes; the first delete of `here` is throttled, and the answer to the second one is lost, which is carried
 * out.
 */
async function startDeletes(t: TestContext, queue: { readonly enablePartitioning?: boolean } = {}) {
  const faults = { isOn: false, deletes: 0 };
  const client = hookedClient(() => {});
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (!faults.isOn || commandName !== 'DeleteItemCommand') return await next(args);
        faults.deletes++;
        if (faults.deletes === 1) throw throttled();
        const answer = await next(args);
        if (faults.deletes > 2) return answer;
        throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      },
    { step: 'initialize', name: 'deletes' },
  );
  t.after(() => client.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client, clock });
  const there = await startProcess(t, { clock, namespace: here.namespace });
  await here.management.create('q', { kind: 'queue', ...queue });
  return { here, there, faults };
}

test('a receive-and-delete is not refused as busy if it may have deleted a message', async (t) => {
  const { here, there, faults } = await startDeletes(t);
  for (const text of ['a', 'b']) await there.broker.send(Q, [message(text)]);
  faults.isOn = true;
  const told = await codeOf(
    here.broker.receive(Q, ask({ mode: 'receiveAndDelete', maxMessages: 2 })),
  );
  faults.isOn = false;
  if (told !== 'ServiceBusy') return;
  const left = await there.broker.receive(Q, ask({ maxMessages: 2 }));
  assert.equal(left.length, 2, 'nothing was done');
});

test('a receive-and-delete that waits does not go on as if nothing was done if it may have deleted a message', async (t) => {
  const { here, there, faults } = await startDeletes(t);
  for (const text of ['a', 'b']) await there.broker.send(Q, [message(text)]);
  faults.isOn = true;
  const told = await codeOf(
    here.broker.receive(Q, ask({ mode: 'receiveAndDelete', maxMessages: 2, waitMs: 5000 })),
  );
  faults.isOn = false;
  assert.ok(faults.deletes >= 2);
  assert.equal(told, 'ServiceTimeout');
});

test('a receive-and-delete from two partitions is not refused as busy if it may have deleted a message', async (t) => {
  const { here, there, faults } = await startDeletes(t, { enablePartitioning: true });
  const placed = new Set<bigint>();
  for (let i = 0; placed.size < 2; i++) {
    const [sent] = await there.broker.send(Q, [message(`m${i}`, { partitionKey: `k${i}` })]);
    const partition = (sent?.sequenceNumber ?? 0n) >> 48n;
    if (placed.has(partition))
      await there.broker.operate(Q, { kind: 'delete' }, [sent?.sequenceNumber ?? 0n]);
    placed.add(partition);
  }
  faults.isOn = true;
  const told = await codeOf(
    here.broker.receive(Q, ask({ mode: 'receiveAndDelete', maxMessages: 2 })),
  );
  faults.isOn = false;
  if (told !== 'ServiceBusy') return assert.equal(told, 'ServiceTimeout');
  assert.equal(faults.deletes, 2);
  const left = [
    ...(await there.broker.receive(Q, ask({ maxMessages: 2 }))),
    ...(await there.broker.receive(Q, ask({ maxMessages: 2 }))),
  ];
  assert.equal(left.length, 2, 'nothing was done');
});

test('a receive-and-delete in a session does not lose what it deleted because it is not known whether it deleted more', async (t) => {
  let deletes = Number.NEGATIVE_INFINITY;
  const client = hookedClient(({ command }) => {
    // Every delete after the first one never arrives.
    if (command !== 'DeleteItemCommand' || ++deletes <= 1) return;
    throw Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' });
  });
  t.after(() => client.destroy());
  const clock = new ManualClock();
  const here = await startProcess(t, { client, clock });
  const there = await startProcess(t, { clock, namespace: here.namespace });
  await here.management.create('q', { kind: 'queue', requiresSession: true });
  for (const text of ['a', 'b']) await there.broker.send(Q, [message(text, { sessionId: 's' })]);
  const session = await here.broker.acceptSession(Q, { sessionId: 's', waitMs: 0 });
  assert.ok(session !== undefined);
  deletes = 0;
  const got: string[] = [];
  try {
    const options = { mode: 'receiveAndDelete', maxMessages: 2, session } as const;
    const received = await here.broker.receive(Q, ask(options));
    got.push(...received.map((one) => Buffer.from(one.message.body).toString()));
  } catch (error) {
    assert.ok(error instanceof BrokerError);
  }
  deletes = Number.NEGATIVE_INFINITY;
  clock.advance({ minutes: 10 });
  const again = await there.broker.acceptSession(Q, { sessionId: 's', waitMs: 0 });
  const left = await there.broker.receive(Q, ask({ maxMessages: 2, session: again }));
  got.push(...left.map((one) => Buffer.from(one.message.body).toString()));
  assert.deepEqual(got, ['a', 'b']);
});
