import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Block,
  type BlockRules,
  expiryOf,
  ownExpiryOf,
  sequenceNumberOf,
  slotOf,
  splitSequenceNumber,
  surveyBlock,
} from '../../../shared/domain/blocks/block.ts';
import { lockTag } from '../../../shared/domain/blocks/lock-token.ts';
import { availability, type Slot } from '../../../shared/domain/blocks/slot.ts';

const NOW = 1_000_000;
const TAG = lockTag(1, new Uint8Array(6));
const RULES: BlockRules = { epoch: 1, isDeadLetter: false, maxDeliveryCount: 2 };

function blockOf(slots: Readonly<Record<number, Slot>>, more: Partial<Block> = {}): Block {
  return {
    section: 'live',
    sequence: 1n,
    enqueuedAt: NOW - 100,
    slots: new Map(Object.entries(slots).map(([number, slot]) => [Number(number), slot])),
    payload: { parts: 0, offset: 0, bytes: 0 },
    ...more,
  };
}

test('a survey sorts the messages of a block by availability', () => {
  const block = blockOf({
    7: { deliveries: 0 },
    3: { deliveries: 1 },
    12: { deliveries: 1, heldUntil: NOW + 20, tag: TAG },
    1: { deliveries: 2, heldUntil: NOW + 10, tag: TAG },
    5: { deliveries: 2 },
    4: { deliveries: 2, heldUntil: NOW, tag: TAG },
    9: { deliveries: 0, expiresAt: NOW },
    8: { deliveries: 0, expiresAt: NOW + 1 },
  });
  assert.deepEqual(surveyBlock(block, RULES, NOW), {
    free: [3, 7, 8],
    expired: [9],
    exhausted: [4, 5],
    nextFreeAt: NOW + 10,
  });
});

test('a block without held messages has no next free instant, and the survey of an empty block is empty', () => {
  const block = blockOf({ 0: { deliveries: 0 } });
  assert.equal('nextFreeAt' in surveyBlock(block, RULES, NOW), false);
  assert.deepEqual(surveyBlock(blockOf({}), RULES, NOW), { free: [], expired: [], exhausted: [] });
});

const EXPIRY: readonly (readonly [
  string,
  Partial<Block>,
  Slot,
  Partial<BlockRules>,
  number | undefined,
])[] = [
  ['no setting', {}, { deliveries: 0 }, {}, undefined],
  ['the entity', {}, { deliveries: 0 }, { defaultTimeToLiveMs: 50 }, NOW - 50],
  ['the block', { expiresAt: 5 }, { deliveries: 0 }, { defaultTimeToLiveMs: 50 }, 5],
  [
    'the message',
    { expiresAt: 5 },
    { deliveries: 0, expiresAt: 4 },
    { defaultTimeToLiveMs: 50 },
    4,
  ],
  ['the message, even if later', { expiresAt: 5 }, { deliveries: 0, expiresAt: 9 }, {}, 9],
];

for (const [who, more, slot, rules, expected] of EXPIRY) {
  test(`the expiry of a message is decided by ${who}`, () => {
    const block = blockOf({ 0: slot }, more);
    assert.equal(expiryOf(block, slot, { ...RULES, ...rules }), expected);
    const own = who.startsWith('the message') || who === 'the block' ? expected : undefined;
    assert.equal(ownExpiryOf(block, slot), own);
  });
}

test('a change of the entity’s time to live applies to messages that have none of their own', () => {
  const block = blockOf({ 0: { deliveries: 0 }, 1: { deliveries: 0, expiresAt: NOW + 1 } });
  const shortened = { ...RULES, defaultTimeToLiveMs: 100 };
  assert.deepEqual(surveyBlock(block, { ...RULES, defaultTimeToLiveMs: 101 }, NOW).free, [0, 1]);
  assert.deepEqual(surveyBlock(block, shortened, NOW), { free: [1], expired: [0], exhausted: [] });
});

test('a missing slot that must be there violates an invariant', () => {
  assert.throws(() => slotOf(blockOf({}), 0), /Invariant violated/);
});

const slots = fc.dictionary(
  fc.nat(61).map(String),
  fc.record<Slot>(
    {
      deliveries: fc.nat(3),
      heldUntil: fc.constantFrom(NOW - 1, NOW, NOW + 1, NOW + 30),
      tag: fc.constantFrom(TAG, lockTag(2, new Uint8Array(6))),
      expiresAt: fc.constantFrom(NOW - 1, NOW, NOW + 1),
    },
    { requiredKeys: ['deliveries', 'heldUntil'] },
  ),
);

test('a survey lists every message that is not held exactly once, in order', () => {
  fc.assert(
    fc.property(slots, fc.boolean(), (drawn, isDeadLetter) => {
      const block = blockOf(drawn as Record<number, Slot>);
      const rules = { ...RULES, isDeadLetter };
      const { free, expired, exhausted, nextFreeAt } = surveyBlock(block, rules, NOW);
      const named = { free, expired, exhausted };
      for (const [kind, numbers] of Object.entries(named)) {
        assert.deepEqual(
          numbers,
          [...numbers].sort((a, b) => a - b),
        );
        for (const number of numbers) {
          const slot = slotOf(block, number);
          assert.equal(availability(slot, expiryOf(block, slot, rules), rules, NOW).kind, kind);
        }
      }
      const count = free.length + expired.length + exhausted.length;
      assert.equal(new Set(Object.values(named).flat()).size, count);
      assert.equal(count < block.slots.size, nextFreeAt !== undefined);
      if (nextFreeAt !== undefined) {
        const later = surveyBlock(block, rules, nextFreeAt);
        const laterCount = later.free.length + later.expired.length + later.exhausted.length;
        assert.ok(laterCount > count);
      }
    }),
  );
});

test('the sequence number that clients see has the partition in its top 16 bits', () => {
  assert.equal(sequenceNumberOf(0, 1n), 1n);
  assert.equal(sequenceNumberOf(1, 1n), 281_474_976_710_657n);
  const sequence = fc.bigInt({ min: 0n, max: 2n ** 48n - 1n });
  fc.assert(
    fc.property(fc.nat(15), sequence, (partition, number) => {
      const shown = sequenceNumberOf(partition, number);
      assert.ok(shown < 2n ** 63n);
      assert.deepEqual(splitSequenceNumber(shown), { partition, sequence: number });
    }),
  );
});
