import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import type { Target } from '../../../shared/storage/claim/choice.ts';
import { eachOf, lockEnd, type Receive } from '../../../shared/storage/claim/claim-blocks.ts';

const START = 1_000_000;
const LOCK_MS = 60_000;
const TARGETS = 8;

/** A receive of one message from each of several blocks; each block waits `waitMs` for its turn. */
function slowReceive(waitMs: number, isWanted = () => true) {
  let now = START;
  const next = async () => {
    now += waitMs;
  };
  const block = { section: 'live', sequence: 1n } as Block;
  const target = { slots: [0], block, reservation: { end: () => true } };
  const receive = {
    context: {
      clock: { now: () => now },
      requestTurns: { next },
      scanHints: { invalidateFrom: () => {} },
    },
    log: { entityId: 'e', partition: 0, subQueue: 'main', generation: 0 },
    tried: { blocks: 0 },
    request: { lockMs: LOCK_MS, rules: {}, isWanted },
    now: START,
  } as unknown as Receive;
  const targets = Array<Target>(TARGETS).fill(target as unknown as Target);
  return eachOf(receive, targets, async ({ block, slots }, inTurn) => ({
    ...{ block, slots },
    lockedUntil: lockEnd(inTurn.request, inTurn.now),
  }));
}

test('each lock of a receive begins when it is written', async () => {
  const waitMs = 1000;
  const locks = (await slowReceive(waitMs)).map((got) => got?.lockedUntil);
  assert.deepEqual(
    locks,
    locks.map((_, i) => START + (i + 1) * waitMs + LOCK_MS),
  );
  assert.equal(locks.length, TARGETS);
});

test('a receive that has waited long since its first lock locks no more messages', async () => {
  for (const waitMs of [LOCK_MS / 10, LOCK_MS, 10 * LOCK_MS]) {
    const locks = (await slowReceive(waitMs)).flatMap((got) => got?.lockedUntil ?? []);
    const [first = 0, last = 0] = [locks[0], locks.at(-1)];
    assert.ok(locks.length > 0 && locks.length < TARGETS, `${locks.length}`);
    assert.ok(last - first < LOCK_MS / 4, `${last - first} ms`);
  }
});

/** From how many blocks a receive gets messages. */
const gotten = async (isWanted: () => boolean) =>
  (await slowReceive(0, isWanted)).filter((got) => got !== undefined).length;

test('a receive that no longer wants messages claims none', async () => {
  assert.equal(await gotten(() => false), 0);
  let left = 3;
  assert.equal(await gotten(() => left-- > 0), 3);
});
