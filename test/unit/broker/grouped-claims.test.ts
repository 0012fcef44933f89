import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNLOCKED_SESSION } from '../../../shared/domain/blocks/session.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import { type Ask, askTogether } from '../../support/fake-claims.ts';

const one: Ask = {};
const two: Ask = { maxMessages: 2 };

test('the messages of one claim are dealt out in the order of asking', async () => {
  const { got, claims } = await askTogether([[{ numbers: [1, 2, 3] }]], [one, one, one]);
  assert.deepEqual(got, [[1], [2], [3]]);
  assert.equal(claims.length, 1);
});

test('every caller gets a message before anybody gets a second', async () => {
  const blocks = [{ numbers: [1, 2] }, { numbers: [3] }];
  assert.deepEqual((await askTogether([blocks], [two, two, two])).got, [[1], [2], [3]]);
  assert.deepEqual((await askTogether([blocks], [two, two])).got, [[1, 2], [3]]);
});

test('a caller gets adjacent messages, which settle in few writes', async () => {
  const blocks = [{ numbers: [1, 2] }, { numbers: [3, 4] }];
  assert.deepEqual((await askTogether([blocks], [two, two])).got, [
    [1, 2],
    [3, 4],
  ]);
});

test('a caller without a message asks again, and is answered empty only by a claim that found nothing', async () => {
  const looks = [[{ numbers: [1] }], [{ numbers: [2] }], []];
  const { got, claims } = await askTogether(looks, [one, one, one, one]);
  assert.deepEqual(got, [[1], [2], [], []]);
  assert.equal(claims.length, 3);
});

test('a claim that found nothing answers all its callers', async () => {
  const { got, claims } = await askTogether([[]], [one, two, one]);
  assert.deepEqual(got, [[], [], []]);
  assert.equal(claims.length, 1);
});

test('a failure is the outcome of all callers', async () => {
  const { got } = await askTogether([serviceBusy('Try again.')], [one, one]);
  assert.deepEqual(new Set(got), new Set(['BrokerError: Try again.']));
});

test('a caller that gave up before the claim claims nothing', async () => {
  const isWanted = () => false;
  const { got, claims } = await askTogether([[{ numbers: [1] }]], [{ isWanted }, one]);
  assert.deepEqual(got, [[], [1]]);
  assert.equal(claims.length, 1);
  assert.equal(claims[0]?.maxMessages, 1);
});

for (const mode of ['peekLock', 'receiveAndDelete'] as const) {
  test(`${mode}: a caller that gave up after the claim began`, async () => {
    let wants = 0;
    // Asked before the claim, for its turn, by the store, as the plan is made, and before the write; then it gives up.
    const isWanted = () => ++wants <= 5;
    const asks = [{ mode, isWanted }, { mode }, { mode }];
    const { got, settled } = await askTogether([[{ numbers: [1, 2, 3] }]], asks);
    if (mode === 'receiveAndDelete') {
      assert.deepEqual(new Set(got.flat()), new Set([1, 2, 3]), 'a removed message would be lost');
      assert.deepEqual(settled, []);
    } else {
      assert.deepEqual(got.slice(1), [[1], [2]]);
      assert.deepEqual(settled, [[3, { kind: 'abandon', isUncounted: true }]]);
    }
  });
}

test('a large message is claimed for one caller, and nothing beside it', async () => {
  const blocks = [{ numbers: [1], bytes: 5_000_000 }, { numbers: [2] }];
  const { got, claims } = await askTogether([blocks, [{ numbers: [2] }]], [one, one]);
  assert.deepEqual(got, [[1], [2]]);
  assert.equal(claims.length, 2);
});

test('large messages are claimed for each caller at the same time', async () => {
  const large = (number: number) => [{ numbers: [number], bytes: 5_000_000 }];
  const { got, claims } = await askTogether([large(1), large(2), large(3)], [one, two, one]);
  assert.deepEqual(got, [[1], [2], [3]]);
  assert.deepEqual(
    claims.map(({ maxMessages }) => maxMessages),
    [4, 2, 1],
  );
});

test('a caller without memory is refused, and the others get their messages', async () => {
  const refusing = {
    hold: () => {
      throw serviceBusy('No memory.');
    },
  };
  const looks = [[{ numbers: [1, 2] }], [{ numbers: [1] }], [{ numbers: [1] }]];
  const { got } = await askTogether(looks, [{ payloads: refusing }, one]);
  assert.deepEqual(got, ['BrokerError: No memory.', [1]]);
});

test('each caller holds the memory of its own messages', async () => {
  const held: number[][] = [[], []];
  const payloads = held.map((bytes) => ({ hold: (more: number) => void bytes.push(more) }));
  const blocks = Array.from({ length: 3 }, (_, i) => ({ numbers: [i], bytes: 60_000 }));
  await askTogether(
    [blocks],
    [
      { payloads: payloads[0], maxMessages: 1 },
      { payloads: payloads[1], maxMessages: 2 },
    ],
  );
  assert.deepEqual(held, [[64 * 1024], [128 * 1024]]);
});

/** What a caller may take of several partitions; how many messages are left of it, and the bytes of what was taken. */
function allowanceOf(messages: number) {
  const state = { left: messages, bytes: 0 };
  const take = (wanted: number, bytes: number) => {
    const allowed = Math.min(wanted, state.left);
    state.left -= allowed;
    if (allowed > 0) state.bytes += bytes;
    return allowed;
  };
  const giveBack = (unused: number, bytes: number) => {
    state.left += unused;
    state.bytes -= bytes;
  };
  return { state, allowance: { take, giveBack } };
}

test('what a caller may take of several partitions is shared by its claims, and the rest is given back', async () => {
  const { state, allowance } = allowanceOf(1);
  const asks = [{ maxMessages: 3, allowance }, { maxMessages: 3 }];
  const { got } = await askTogether([[{ numbers: [1, 2, 3, 4] }]], asks);
  assert.deepEqual(got, [[1], [2, 3, 4]]);
  assert.equal(state.left, 0);
});

test('callers that got their messages from other partitions do not make others claim again', async () => {
  const served = Array.from({ length: 31 }, () => ({ allowance: allowanceOf(0).allowance }));
  const { got, claims } = await askTogether([[{ numbers: [1] }]], [...served, one]);
  assert.deepEqual(got, [...served.map(() => []), [1]]);
  assert.equal(claims.length, 1);
});

test('if all callers got their messages from other partitions, none claims again', async () => {
  const asks = Array.from({ length: 32 }, () => ({ allowance: allowanceOf(0).allowance }));
  const { got, claims } = await askTogether([[{ numbers: [1] }]], asks);
  assert.deepEqual(
    got,
    asks.map(() => []),
  );
  assert.equal(claims.length, 1);
});

for (const fails of [false, true]) {
  const why = fails ? 'the database is busy' : 'one of them has no memory';
  test(`if a claim fails since ${why}, its callers may take as much of other partitions as before`, async () => {
    const { state, allowance } = allowanceOf(1);
    const refuse = () => {
      throw serviceBusy('No memory.');
    };
    const payloads = { hold: fails ? () => {} : refuse };
    const block = { numbers: [1], ...(fails ? { fails } : {}) };
    const looks = [[{ ...block, numbers: [1, 2] }], [block], [block]];
    const { got } = await askTogether(looks, [{ allowance, payloads }, one]);
    const busy = 'BrokerError: The database is busy.';
    assert.deepEqual(got, fails ? [busy, busy] : ['BrokerError: No memory.', [1]]);
    assert.equal(state.left, 1);
  });
}

const busyElsewhere = { isLost: true } as const;

test('if other processes were faster, the next choice is planned from the beginning, in the order of asking', async () => {
  const looks = [
    [{ numbers: [1, 2], ...busyElsewhere }],
    [{ numbers: [3], ...busyElsewhere }],
    [{ numbers: [4] }],
    [{ numbers: [5] }],
  ];
  const { got, claims } = await askTogether(looks, [one, one]);
  assert.deepEqual(got, [[4], [5]]);
  assert.equal(claims.length, 2);
});

test('if other processes were faster, their messages take no room in the answers', async () => {
  const answer = { form: 'batch', bytes: 100 } as const;
  const looks = [
    [{ numbers: [1], answerBytes: 60, ...busyElsewhere }],
    [
      { numbers: [2], answerBytes: 50 },
      { numbers: [3], answerBytes: 50 },
    ],
  ];
  const { got, claims } = await askTogether(looks, [{ answer }, { answer }]);
  assert.deepEqual(got, [[2], [3]]);
  assert.equal(claims.length, 1);
});

test('if other processes were faster to get a large message, another large one can be claimed', async () => {
  const large = { bytes: 5_000_000 };
  const looks = [
    [{ numbers: [1], ...large, ...busyElsewhere }],
    [{ numbers: [2], ...large }],
    [{ numbers: [3] }],
  ];
  const { got, claims } = await askTogether(looks, [one, one]);
  assert.deepEqual(got, [[2], [3]]);
  assert.equal(claims.length, 2);
});

test('what does not fit into the answer of one caller is offered to the others', async () => {
  const answer = { form: 'batch', bytes: 100 } as const;
  const blocks = [80, 10, 30, 10].map((answerBytes, i) => ({ numbers: [i + 1], answerBytes }));
  const asks = [
    { answer, maxMessages: 2 },
    { answer, maxMessages: 3 },
  ];
  const { got } = await askTogether([blocks], asks);
  assert.deepEqual(got, [[1], [2, 3, 4]]);
});

test('if other processes were faster, callers may take as much of other partitions as before', async () => {
  const { state, allowance } = allowanceOf(2);
  const looks = [
    [{ numbers: [1, 2], ...busyElsewhere }],
    [{ numbers: [3], ...busyElsewhere }],
    [{ numbers: [4] }],
  ];
  const { got } = await askTogether(looks, [{ maxMessages: 2, allowance }, one]);
  assert.deepEqual(got[0], [4]);
  assert.deepEqual(state, { left: 1, bytes: 100 });
});

test('a claim of a group waits for one turn, that of the first caller that still wants messages', async () => {
  const turns = [0, 0, 0];
  const wants = [true, true, true];
  const asks = turns.map((_, i) => ({
    waitForTurn: async () => {
      turns[i] = (turns[i] ?? 0) + 1;
    },
    isWanted: () => wants[i] === true,
  }));
  const looks = [[{ numbers: [1, 2, 3] }]];
  assert.deepEqual((await askTogether(looks, asks)).got, [[1], [2], [3]]);
  assert.deepEqual(turns, [1, 0, 0]);
  const { got } = await askTogether(looks, asks, () => {
    wants[0] = false;
  });
  assert.deepEqual(got, [[], [1], [2]]);
  assert.deepEqual(turns, [1, 1, 0]);
});

test('claims of different modes, and of a session, do not share a claim', async () => {
  const modes = await askTogether(
    [[{ numbers: [1] }], [{ numbers: [2] }]],
    [one, { mode: 'receiveAndDelete' }],
  );
  assert.deepEqual(modes.got, [[1], [2]]);
  assert.equal(modes.claims.length, 2);
  const rules = {
    epoch: 1,
    isDeadLetter: false,
    maxDeliveryCount: 10,
    session: UNLOCKED_SESSION,
  };
  const sessions = await askTogether(
    [[{ numbers: [1] }], [{ numbers: [2] }]],
    [{ rules }, { rules }],
  );
  assert.deepEqual(sessions.got, [[1], [2]]);
  assert.equal(sessions.claims.length, 2);
});
