import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendOrder, type SendTurn } from '../../../shared/broker/group-commit/send-order.ts';

/** A send whose checks, and whose store, end when the test says so. */
function startSends() {
  const order = new SendOrder();
  const link = {};
  const log: string[] = [];
  const gates = new Map<string, () => void>();
  const until = (name: string) => new Promise<void>((open) => gates.set(name, open));
  const send = (name: string, isAlone = false, orderedBy = link) =>
    order.run(orderedBy, async ({ joined, othersStored }: SendTurn) => {
      log.push(`${name} is checked`);
      await until(`${name} is checked`);
      if (isAlone) await othersStored();
      log.push(`${name} joins`);
      if (!isAlone) joined();
      await until(`${name} joins`);
      log.push(`${name} is stored`);
      return name;
    });
  const open = async (name: string) => {
    gates.get(name)?.();
    await settled();
  };
  return { send, open, log };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

test('a send begins its checks when the one before it has joined a group, not when that is stored', async () => {
  const { send, open, log } = startSends();
  const both = [send('1'), send('2')];
  await settled();
  assert.deepEqual(log, ['1 is checked']);
  await open('1 is checked');
  assert.deepEqual(log, ['1 is checked', '1 joins', '2 is checked']);
  for (const gate of ['2 is checked', '2 joins', '1 joins']) await open(gate);
  assert.deepEqual(await Promise.all(both), ['1', '2']);
});

test('a send that goes alone waits for those before it, and those behind it wait for it', async () => {
  const { send, open, log } = startSends();
  const all = [send('1'), send('2', true), send('3')];
  await settled();
  for (const gate of ['1 is checked', '2 is checked']) await open(gate);
  assert.deepEqual(log, ['1 is checked', '1 joins', '2 is checked']);
  await open('1 joins');
  assert.deepEqual(log.slice(3), ['1 is stored', '2 joins']);
  await open('2 joins');
  assert.deepEqual(log.slice(5), ['2 is stored', '3 is checked']);
  for (const gate of ['3 is checked', '3 joins']) await open(gate);
  await Promise.all(all);
});

test('a refused send does not hold up the next one, and other senders do not wait', async () => {
  const order = new SendOrder();
  const link = {};
  const refused = order.run(link, async () => {
    throw new Error('refused');
  });
  await assert.rejects(refused, /refused/);
  assert.equal(await order.run(link, async () => 'next'), 'next');
  const { send, open, log } = startSends();
  const both = [send('1'), send('2', false, {})];
  await settled();
  assert.deepEqual(log, ['1 is checked', '2 is checked']);
  for (const gate of ['1 is checked', '2 is checked', '1 joins', '2 joins']) await open(gate);
  await Promise.all(both);
});
