import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import { type Ask, askTogether, startClaims } from '../../support/fake-claims.ts';

/** Claims that do not share, or no longer, and do not wait for each other. */

const one: Ask = {};

test('receives of two forms that alternate share a claim of each form', async () => {
  const answer = { form: 'batch', bytes: 10_000 } as const;
  const asks = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? {} : { answer }));
  const looks = [[{ numbers: [1, 2, 3, 4] }], [{ numbers: [5, 6, 7, 8] }]];
  const { got, claims } = await askTogether(looks, asks);
  assert.deepEqual(
    claims.map(({ maxMessages }) => maxMessages),
    [4, 4],
  );
  assert.deepEqual(got.flat().sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test('receives whose answers have different limits do not share a claim', async () => {
  const asks = [10, 20].map((bytes) => ({ answer: { form: 'batch', bytes } as const }));
  const { claims } = await askTogether([], asks);
  assert.deepEqual(
    claims.map(({ answer }) => answer?.bytes),
    [10, 20],
  );
});

test('a receive of many messages goes alone, and others do not wait for it', async () => {
  const { claims } = await askTogether([], [one, { maxMessages: 101 }, one, { maxMessages: 100 }]);
  assert.deepEqual(
    claims.map(({ maxMessages }) => maxMessages),
    [101, 102],
  );
});

test('if one caller of a group has no memory, all claim for themselves at the same time', async () => {
  const refusing = {
    hold: () => {
      throw serviceBusy('No memory.');
    },
  };
  const { ask, letGo, scheduler, claims } = startClaims([
    [{ numbers: [1, 2, 3] }],
    [{ numbers: [1] }],
    [{ numbers: [2] }],
    [{ numbers: [3] }],
  ]);
  const answers = [ask({ payloads: refusing }), ask(), ask()];
  await scheduler.settled();
  letGo();
  while (claims.length < 2) await scheduler.settled();
  assert.equal(claims.length, 4, 'the first of them does not hold up the others');
  assert.deepEqual(await Promise.all(answers), ['BrokerError: No memory.', [2], [3]]);
});

test('the next group begins when the messages of callers that gave up are unlocked', async () => {
  let unlock = () => {};
  const unlocked = new Promise<void>((resolve) => {
    unlock = resolve;
  });
  const looks = [[{ numbers: [1, 2] }], [{ numbers: [1] }]];
  const { ask, letGo, scheduler, claims, settled } = startClaims(looks, unlocked);
  // Wanted until the block is about to be written.
  let wants = 0;
  const isWanted = () => ++wants <= 8;
  const given = [ask({ isWanted }), ask({ isWanted })];
  await scheduler.settled();
  letGo();
  while (settled.length < 2) await scheduler.settled();
  const later = ask();
  await scheduler.settled();
  assert.equal(claims.length, 1);
  unlock();
  await scheduler.pass(20);
  assert.deepEqual(await Promise.all([...given, later]), [[], [], [1]]);
});
