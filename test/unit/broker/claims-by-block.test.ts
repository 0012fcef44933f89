import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, askTogether, startClaims } from '../../support/fake-claims.ts';

/** Shared claims of several blocks, of which one takes long or fails. */

const one: Ask = {};
const two: Ask = { maxMessages: 2 };

test('a caller is answered when its own blocks are claimed, and asks again meanwhile if it got nothing', async () => {
  let letGo = () => {};
  const until = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const looks = [
    [{ numbers: [1, 2], until }, { numbers: [3] }, { numbers: [4], isLost: true } as const],
    [{ numbers: [5] }],
  ];
  const claims = startClaims(looks);
  const answers = [two, one, one, one].map((asks) => claims.ask(asks));
  const got: unknown[] = [];
  for (const answer of answers) void answer.then((numbers) => got.push(numbers));
  await claims.scheduler.settled();
  claims.letGo();
  await claims.scheduler.settled();
  assert.deepEqual(got, [[3]]);
  await claims.scheduler.pass(100);
  await claims.scheduler.settled();
  assert.deepEqual(got, [[3], [5]]);
  letGo();
  await claims.scheduler.settled();
  assert.deepEqual(got, [[3], [5], [1], [2]]);
});

test('a block that fails concerns those whose messages are in it: a lock they ask for again, a removal they hear of', async () => {
  const looks = () => [
    [{ numbers: [1] }, { numbers: [2], fails: true } as const],
    [{ numbers: [3] }],
  ];
  assert.deepEqual((await askTogether(looks(), [one, one])).got, [[1], [3]]);
  const mode = 'receiveAndDelete';
  const { got, claims } = await askTogether(looks(), [{ mode }, { mode }]);
  assert.deepEqual(got, [[1], 'BrokerError: The database is busy.']);
  assert.equal(claims.length, 1);
});

test('a caller that got its messages from other partitions is answered though the only block takes long', async () => {
  const never = new Promise<void>(() => {});
  const { ask, letGo, scheduler } = startClaims([[{ numbers: [1], until: never }]]);
  const served = ask({ allowance: { take: () => 0, giveBack: () => {} } });
  void ask();
  await scheduler.settled();
  letGo();
  await scheduler.pass(100);
  assert.deepEqual(await served, []);
});
