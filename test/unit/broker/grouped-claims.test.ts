import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { groupedClaim } from '../../../shared/broker/group-commit/claims.ts';
import type { ClaimRequest, MessageStore } from '../../../shared/broker/ports/messages.ts';
import { formatLockToken } from '../../../shared/domain/blocks/lock-token.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { UNLOCKED_SESSION } from '../../../shared/domain/blocks/session.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

const LOG: Log = {
  entityId: 'q',
  headerEntityId: 'q',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
};

/** A block of messages, as the store offers it to an allowance. */
interface FakeBlock {
  readonly numbers: readonly number[];
  readonly bytes?: number;
  readonly answerBytes?: number;
}

function message(number: number, mode: ClaimRequest['mode']): ReceivedMessage {
  const token = formatLockToken({
    section: 'live',
    partition: 0,
    block: BigInt(number),
    slot: 0,
    liveSlots: 1,
    tag: new Uint8Array(7),
  });
  const lock = mode === 'peekLock' ? { lockToken: token, lockedUntil: 1 } : {};
  return { sequenceNumber: BigInt(number), ...lock } as ReceivedMessage;
}

/** A store whose claims find the blocks of one entry of `looks` after the other; claims wait until `letGo`. */
function startClaims(looks: readonly (readonly FakeBlock[] | Error)[]) {
  const scheduler = new ManualScheduler();
  const settled: unknown[] = [];
  const claims: ClaimRequest[] = [];
  let letGo = () => {};
  const begun = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const claim: MessageStore['claim'] = async (_, request) => {
    const look = looks[claims.length] ?? [];
    claims.push(request);
    await begun;
    if (look instanceof Error) throw look;
    if (request.isWanted?.() === false) return [];
    const taken: number[] = [];
    let bytes = 0;
    for (const block of look) {
      const size = block.bytes ?? 100 * block.numbers.length;
      const chosen = block.numbers.slice(0, request.maxMessages - taken.length);
      if (chosen.length === 0) break;
      const allowed =
        request.allowance?.take(chosen.length, size, block.answerBytes ?? size) ?? chosen.length;
      taken.push(...chosen.slice(0, allowed));
      if (allowed > 0) bytes += size;
    }
    if (taken.length > 0) request.payloads?.hold(bytes, BigInt(taken[0] ?? 0));
    request.allowance?.giveBack(0, 0, 0);
    await scheduler.settled();
    return taken.map((number) => message(number, request.mode));
  };
  const settle: MessageStore['settle'] = async (_, settlements) => {
    settled.push(...settlements.map(({ token, action }) => [Number(token.block), action]));
    return [];
  };
  const grouped = groupedClaim({
    messages: { claim, settle },
    scheduler,
    background: (work) => void work(),
  });
  const ask = async (changes: Partial<ClaimRequest> = {}) => {
    const request: ClaimRequest = {
      rules: { epoch: 1, isDeadLetter: false, maxDeliveryCount: 10 },
      onExpiry: 'drop',
      deadLetterLog: LOG,
      mode: 'peekLock',
      maxMessages: 1,
      maxBytes: 1_000_000,
      lockMs: 1000,
      ...changes,
    };
    const result = await resultOf(grouped(LOG, request));
    return 'error' in result
      ? String(result.error)
      : result.value.map(({ sequenceNumber }) => Number(sequenceNumber));
  };
  return { ask, letGo, scheduler, settled, claims };
}

type Ask = Partial<ClaimRequest>;

/** Several receives ask at the same time. */
async function askTogether(
  looks: Parameters<typeof startClaims>[0],
  asks: readonly Ask[],
  meanwhile: () => void = () => {},
) {
  const { ask, letGo, scheduler, settled, claims } = startClaims(looks);
  const answers = asks.map((one) => ask(one));
  await scheduler.settled();
  meanwhile();
  letGo();
  return { got: await Promise.all(answers), settled, claims };
}

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
    // Asked before the claim, by the store, and as the plan is made; then it gives up.
    const isWanted = () => ++wants <= 3;
    const asks = [{ mode, isWanted }, { mode }, { mode }];
    const { got, settled } = await askTogether([[{ numbers: [1, 2, 3] }]], asks);
    if (mode === 'receiveAndDelete') {
      assert.deepEqual(got, [[1], [2], [3]], 'a removed message would be lost');
      assert.deepEqual(settled, []);
    } else {
      assert.deepEqual(got.slice(1), [[1], [2]]);
      assert.deepEqual(settled, [[3, { kind: 'abandon', isUncounted: true }]]);
    }
  });
}

test('a message that is too large for the answer of one caller goes to another', async () => {
  const answer = (bytes: number) => ({ form: 'batch', bytes }) as const;
  const blocks = [{ numbers: [1], answerBytes: 500 }];
  const { got, claims } = await askTogether(
    [blocks, []],
    [{ answer: answer(100) }, { answer: answer(1000) }],
  );
  assert.deepEqual(got, [[], [1]]);
  assert.equal(claims.length, 2);
});

test('if no caller can have what was found, each claims by itself, with its own limits', async () => {
  const answer = { form: 'batch', bytes: 100 } as const;
  const blocks = [{ numbers: [1], answerBytes: 500 }];
  const { got, claims } = await askTogether([blocks, blocks, []], [{ answer }, { answer }]);
  assert.deepEqual(got, [[1], []]);
  assert.deepEqual(
    claims.map((claim) => claim.answer?.bytes),
    [Number.POSITIVE_INFINITY, 100, 100],
  );
});

test('a large message is claimed for one caller, and nothing beside it', async () => {
  const blocks = [{ numbers: [1], bytes: 5_000_000 }, { numbers: [2] }];
  const { got, claims } = await askTogether([blocks, [{ numbers: [2] }]], [one, one]);
  assert.deepEqual(got, [[1], [2]]);
  assert.equal(claims.length, 2);
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

test('what a caller may take of several partitions is shared by its claims, and the rest is given back', async () => {
  let left = 1;
  const allowance = {
    take: (messages: number) => {
      const allowed = Math.min(messages, left);
      left -= allowed;
      return allowed;
    },
    giveBack: (messages: number) => {
      left += messages;
    },
  };
  const asks = [{ maxMessages: 3, allowance }, { maxMessages: 3 }];
  const { got } = await askTogether([[{ numbers: [1, 2, 3, 4] }]], asks);
  assert.deepEqual(got, [[1], [2, 3]]);
  assert.equal(left, 0);
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
