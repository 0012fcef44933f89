import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatLockToken,
  isOfEpochOrLater,
  type LockToken,
  locationIn,
  lockTag,
  parseLockToken,
  SLOTS_MAX,
  TAG_BYTES,
} from '../../../shared/domain/blocks/lock-token.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const token: fc.Arbitrary<LockToken> = fc.record(
  {
    section: fc.constantFrom('live' as const, 'returned' as const, 'deferred' as const),
    partition: fc.integer({ min: 0, max: 63 }),
    block: fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 48n - 1n }),
      fc.constantFrom(0n, 1n, 255n, 256n, 2n ** 32n, 2n ** 48n - 1n),
    ),
    slot: fc.integer({ min: 0, max: SLOTS_MAX - 1 }),
    liveSlots: fc.integer({ min: 0, max: 255 }),
    tag: fc.uint8Array({ minLength: TAG_BYTES, maxLength: TAG_BYTES }),
  },
  { noNullPrototype: true },
);

test('a token is written as a GUID and parses to the same token', () => {
  fc.assert(
    fc.property(token, (one) => {
      const text = formatLockToken(one);
      assert.match(text, GUID);
      assert.deepEqual(parseLockToken(text), one);
      assert.deepEqual(parseLockToken(text.toUpperCase()), one);
    }),
  );
});

test('a token with a slot that no block has is lost', () => {
  const [one] = fc.sample(token, 1);
  assert.ok(one !== undefined);
  for (const slot of [SLOTS_MAX, 255]) {
    assert.throws(() => parseLockToken(formatLockToken({ ...one, slot })), /lock/i);
  }
});

test('tokens have the same location if, and only if, they are of the same message', () => {
  fc.assert(
    fc.property(token, token, (one, other) => {
      const { section, partition, block, slot } = one;
      const same = { ...other, section, partition, block, slot };
      const [a, b, c] = [one, same, other].map((each) => locationIn(formatLockToken(each)));
      assert.equal(b, a);
      assert.equal(locationIn(formatLockToken(one).toUpperCase()), a);
      const place = (each: LockToken) =>
        `${each.section} ${each.partition} ${each.block} ${each.slot}`;
      assert.equal(c === a, place(other) === place(one));
    }),
  );
});

test('different tokens have different texts', () => {
  fc.assert(
    fc.property(token, token, (one, other) => {
      const isSame = formatLockToken(one) === formatLockToken(other);
      assert.equal(isSame, fc.stringify(one) === fc.stringify(other));
    }),
  );
});

test('every field of a token is at its documented position', () => {
  const text = formatLockToken({
    section: 'deferred',
    partition: 5,
    block: 0x0102_0304_0506n,
    slot: 0x17,
    liveSlots: 0x18,
    tag: Uint8Array.of(0xa0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6),
  });
  assert.equal(text, '85010203-0405-0617-18a0-b1b2b3b4b5b6');
});

test('a number of messages above 255 is written as 255', () => {
  const one: LockToken = {
    section: 'live',
    partition: 0,
    block: 1n,
    slot: 0,
    liveSlots: 300,
    tag: new Uint8Array(TAG_BYTES),
  };
  assert.equal(parseLockToken(formatLockToken(one)).liveSlots, 255);
});

for (const text of [
  '',
  'no guid',
  '00000000000000000000000000000000',
  '{00000000-0000-0000-0000-000000000000}',
  '00000000-0000-0000-0000-00000000000g',
  '00000000-0000-0000-0000-000000000000\n',
  ' 00000000-0000-0000-0000-000000000000',
  // The fourth value of the two bits for the section, which stands for none.
  'c0000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
]) {
  test(`'${text.trim()}' is a lost lock`, () => {
    assert.throws(
      () => parseLockToken(text),
      (error) => error instanceof BrokerError && error.code === 'MessageLockLost',
    );
  });
}

test('any text is either a token or a lost lock, never another error', () => {
  const texts = fc.oneof(fc.string({ maxLength: 40 }), fc.uuid(), fc.uuid({ version: 15 }));
  fc.assert(
    fc.property(texts, (text) => {
      try {
        assert.equal(formatLockToken(parseLockToken(text)), text.toLowerCase());
      } catch (error) {
        assert.ok(error instanceof BrokerError && error.code === 'MessageLockLost');
      }
    }),
  );
});

test('a tag is of the epoch in which it was made, or later than the 15 before, and ended by the next 240', () => {
  fc.assert(
    fc.property(fc.nat(100_000), fc.uint8Array({ minLength: 6, maxLength: 6 }), (epoch, random) => {
      const tag = lockTag(epoch, random);
      assert.equal(tag.length, TAG_BYTES);
      assert.deepEqual(tag.subarray(1), random);
      for (let earlier = 0; earlier <= 15; earlier++) {
        assert.ok(isOfEpochOrLater(tag, epoch - earlier));
      }
      for (let later = 1; later <= 240; later++) assert.ok(!isOfEpochOrLater(tag, epoch + later));
    }),
    { numRuns: 20 },
  );
});
