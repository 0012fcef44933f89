import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Broker } from '../../../shared/broker/broker.ts';
import { formatLockToken, parseLockToken } from '../../../shared/domain/blocks/lock-token.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { ask, comesTrue, message, Q, startProcess } from '../../support/composed-process.ts';
import { hookedClient } from '../../support/hooked-client.ts';
import { startPauses } from '../../support/pause-client.ts';

/** Settlements that share a write with those of a hostile caller. */

const complete = { kind: 'complete' } as const;

async function lockOne(broker: Broker): Promise<string> {
  const [one] = await broker.receive(Q, ask());
  assert.ok(one && 'lockToken' in one);
  return one.lockToken;
}

async function startQueue(t: TestContext, ...texts: readonly string[]): Promise<Broker> {
  const { broker, management } = await startProcess(t);
  await management.create('q', { kind: 'queue', maxDeliveryCount: 1000 });
  // Blocks of their own.
  for (const text of texts) await broker.send(Q, [message(text)]);
  return broker;
}

type Outcomes = readonly { readonly refusal?: Error | undefined }[];

/** What became of the only item of a call. */
function shown(result: Awaited<ReturnType<typeof resultOf<Outcomes>>>): string {
  if ('error' in result) return `failed: ${String(result.error)}`;
  return result.value[0]?.refusal?.message ?? 'done';
}

for (const verb of ['settle', 'renewLocks'] as const) {
  for (const slot of [61, 62, 255]) {
    test(`${verb}: a token with the slot ${slot}, which its block does not have, is lost, and the others of its group are not`, async (t) => {
      const broker = await startQueue(t, 'a', 'b', 'c');
      const tokens = [await lockOne(broker), await lockOne(broker), await lockOne(broker)];
      const forged = formatLockToken({ ...parseLockToken(tokens[0] ?? ''), slot });
      const call = (lockToken: string) =>
        resultOf<Outcomes>(
          verb === 'settle'
            ? broker.settle(Q, [{ lockToken, action: complete }])
            : broker.renewLocks(Q, [lockToken]),
        );
      const results = await Promise.all([forged, ...tokens.slice(1)].map(call));
      const [first, ...others] = results.map(shown);
      assert.match(first ?? '', /^The lock/);
      assert.deepEqual(others, ['done', 'done']);
    });
  }
}

const WRITES = { settle: 'DeleteItemCommand', renewLocks: 'UpdateItemCommand' } as const;

for (const verb of ['settle', 'renewLocks'] as const) {
  test(`${verb}: one block whose write has no answer holds up its own caller only`, async (t) => {
    const pauses = startPauses();
    const { client } = pauses;
    t.after(() => client.destroy());
    const { broker, management } = await startProcess(t, { client });
    await management.create('q', { kind: 'queue' });
    const tokens: string[] = [];
    for (const text of ['a', 'b', 'c', 'd']) {
      await broker.send(Q, [message(text)]);
      tokens.push(await lockOne(broker));
    }
    const hung = pauses.pauseNext(({ command }) => command === WRITES[verb]);
    let answered = 0;
    const calls = tokens.map(async (lockToken) => {
      const outcome: Outcomes =
        verb === 'settle'
          ? await broker.settle(Q, [{ lockToken, action: complete }])
          : await broker.renewLocks(Q, [lockToken]);
      answered++;
      return shown({ value: outcome });
    });
    await hung.reached;
    const areAnswered = await comesTrue(() => answered === tokens.length - 1);
    hung.goOn();
    assert.deepEqual(
      await Promise.all(calls),
      tokens.map(() => 'done'),
    );
    assert.ok(areAnswered);
  });
}

test('a call that names no message is answered, alone and together with others', async (t) => {
  const broker = await startQueue(t, 'a', 'b');
  assert.deepEqual(await broker.settle(Q, []), []);
  const settlements = [await lockOne(broker), await lockOne(broker)].map((lockToken) => ({
    lockToken,
    action: complete,
  }));
  const calls = [...settlements.map((one) => [one]), []];
  const outcomes = await Promise.all(calls.map((call) => broker.settle(Q, call)));
  assert.deepEqual(
    outcomes,
    calls.map((call) => call.map(({ lockToken }) => ({ lockToken }))),
  );
  assert.deepEqual(await Promise.all([broker.renewLocks(Q, []), broker.renewLocks(Q, [])]), [
    [],
    [],
  ]);
});

test('a receiver cannot make the lock token of another one from its own, though they shared a claim', async (t) => {
  const broker = await startQueue(t);
  await broker.send(Q, [message('a'), message('b')]);
  const [mine = '', theirs = ''] = await Promise.all([lockOne(broker), lockOne(broker)]);
  const { block, slot } = parseLockToken(theirs);
  const forged = formatLockToken({ ...parseLockToken(mine), block, slot });
  await broker.settle(Q, [{ lockToken: forged, action: complete }]);
  const [outcome] = await broker.settle(Q, [{ lockToken: theirs, action: complete }]);
  assert.equal(outcome?.refusal, undefined);
});

test('a settlement does not wait for those of a caller that names one message many times', async (t) => {
  let writes = 0;
  const client = hookedClient(({ command }) => {
    if (command === 'UpdateItemCommand' || command === 'DeleteItemCommand') writes++;
  });
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client });
  await management.create('q', { kind: 'queue' });
  for (const text of ['hostile', 'honest']) await broker.send(Q, [message(text)]);
  const [hostile, honest] = [await lockOne(broker), await lockOne(broker)];
  const settle = (lockToken: string, times = 1) =>
    broker.settle(
      Q,
      Array.from({ length: times }, () => ({ lockToken, action: complete })),
    );
  writes = 0;
  let atAnswer = 0;
  const hostileCalls = Array.from({ length: 20 }, (_, i) => settle(hostile, i % 2 === 0 ? 1 : 25));
  const [[outcome]] = await Promise.all([
    settle(honest).finally(() => {
      atAnswer = writes;
    }),
    ...hostileCalls,
  ]);
  assert.equal(outcome?.refusal, undefined);
  assert.ok(writes > 100, `${writes} writes`);
  assert.ok(atAnswer <= 60, `it was answered after ${atAnswer} of ${writes} writes`);
});

test('changed properties that grow with each abandon are refused before they fill the item, and fail no other settlement', async (t) => {
  const broker = await startQueue(t, 'hostile');
  const grown = (i: number) => ({
    kind: 'abandon' as const,
    properties: Object.fromEntries(
      [0, 1].map((k) => [`p${i}.${k}`, { type: 'string', value: 'x'.repeat(30_000) } as const]),
    ),
  });
  const outcomes: string[] = [];
  while (!outcomes.some((outcome) => outcome !== 'done')) {
    const hostile = await lockOne(broker);
    await broker.send(Q, [message('honest')]);
    const honest = await lockOne(broker);
    const [mine, theirs] = await Promise.all([
      resultOf(broker.settle(Q, [{ lockToken: hostile, action: grown(outcomes.length) }])),
      resultOf(broker.settle(Q, [{ lockToken: honest, action: { kind: 'deadLetter' } }])),
    ]);
    const outcome: string = shown(mine);
    outcomes.push(outcome);
    assert.equal(shown(theirs), 'done');
    if (outcomes.length > 10) break;
    if (outcome === 'done') continue;
    // The message can still be settled.
    const [again] = await broker.settle(Q, [{ lockToken: hostile, action: complete }]);
    assert.equal(again?.refusal, undefined);
  }
  assert.match(outcomes.at(-1) ?? '', /changed properties of the message are \d+ bytes long/);
});
