import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lockTag, TAG_BYTES } from '../../../shared/domain/blocks/lock-token.ts';
import {
  type Availability,
  availability,
  claimed,
  failedDeliveries,
  holdsLock,
  isHeld,
  type Slot,
  type SlotRules,
} from '../../../shared/domain/blocks/slot.ts';

const NOW = 1_000_000;
const RULES: SlotRules = { epoch: 3, isDeadLetter: false, maxDeliveryCount: 3 };
const DEAD: SlotRules = { ...RULES, isDeadLetter: true };
const tagOf = (epoch: number, fill = 1) => lockTag(epoch, new Uint8Array(TAG_BYTES - 1).fill(fill));
const TAG = tagOf(3);
const FREE: Availability = { kind: 'free' };
const held = (until: number): Availability => ({ kind: 'held', until });

const AVAILABILITY: readonly (readonly [
  what: string,
  slot: Slot,
  expiresAt: number | undefined,
  rules: SlotRules,
  expected: Availability,
])[] = [
  ['fresh', { deliveries: 0 }, undefined, RULES, FREE],
  [
    'locked for one ms more',
    { deliveries: 1, heldUntil: NOW + 1, tag: TAG },
    undefined,
    RULES,
    held(NOW + 1),
  ],
  ['whose lock ends now', { deliveries: 1, heldUntil: NOW, tag: TAG }, undefined, RULES, FREE],
  ['whose lock ended', { deliveries: 1, heldUntil: NOW - 1, tag: TAG }, undefined, RULES, FREE],
  [
    'locked in an earlier epoch',
    { deliveries: 1, heldUntil: NOW + 1, tag: tagOf(2) },
    undefined,
    RULES,
    FREE,
  ],
  ['delayed', { deliveries: 1, heldUntil: NOW + 1 }, undefined, RULES, held(NOW + 1)],
  [
    'delayed, in any epoch',
    { deliveries: 1, heldUntil: NOW + 1 },
    undefined,
    { ...RULES, epoch: 9 },
    held(NOW + 1),
  ],
  ['whose delay ends now', { deliveries: 1, heldUntil: NOW }, undefined, RULES, FREE],
  ['with one delivery left', { deliveries: 2 }, undefined, RULES, FREE],
  ['without a delivery left', { deliveries: 3 }, undefined, RULES, { kind: 'exhausted' }],
  [
    'without a delivery left, except an uncounted one',
    { deliveries: 3, uncounted: 1 },
    undefined,
    RULES,
    FREE,
  ],
  ['beyond its deliveries', { deliveries: 4 }, undefined, RULES, { kind: 'exhausted' }],
  [
    'in its last delivery',
    { deliveries: 3, heldUntil: NOW + 1, tag: TAG },
    undefined,
    RULES,
    held(NOW + 1),
  ],
  [
    'after its last delivery',
    { deliveries: 3, heldUntil: NOW, tag: TAG },
    undefined,
    RULES,
    { kind: 'exhausted' },
  ],
  [
    'whose last lock ended by a change of the entity',
    { deliveries: 3, heldUntil: NOW + 1, tag: tagOf(2) },
    undefined,
    RULES,
    { kind: 'exhausted' },
  ],
  ['that expires in a ms', { deliveries: 0 }, NOW + 1, RULES, FREE],
  ['that expires now', { deliveries: 0 }, NOW, RULES, { kind: 'expired' }],
  [
    'that is locked and expired',
    { deliveries: 1, heldUntil: NOW + 1, tag: TAG },
    NOW - 5,
    RULES,
    held(NOW + 1),
  ],
  ['that is exhausted and expired', { deliveries: 3 }, NOW - 5, RULES, { kind: 'exhausted' }],
  ['dead-lettered and exhausted', { deliveries: 99 }, undefined, DEAD, FREE],
  ['dead-lettered and expired', { deliveries: 0 }, NOW - 5, DEAD, FREE],
  [
    'dead-lettered and locked',
    { deliveries: 1, heldUntil: NOW + 1, tag: TAG },
    NOW - 5,
    DEAD,
    held(NOW + 1),
  ],
];

for (const [what, slot, expiresAt, rules, expected] of AVAILABILITY) {
  test(`a message ${what} is ${expected.kind}`, () => {
    assert.deepEqual(availability(slot, expiresAt, rules, NOW), expected);
  });
}

test('a holder loses its lock at the instant at which others can receive the message', () => {
  const slot = claimed({ deliveries: 0 }, TAG, NOW + 30, RULES);
  for (const [now, isLive] of [
    [NOW, true],
    [NOW + 29, true],
    [NOW + 30, false],
    [NOW + 31, false],
  ] as const) {
    assert.equal(holdsLock(slot, TAG, RULES, now), isLive);
    assert.equal(availability(slot, undefined, RULES, now).kind === 'free', !isLive);
  }
});

test('a claim counts a delivery, keeps the expiry, and counts nothing in a dead-letter queue', () => {
  const slot: Slot = { deliveries: 1, expiresAt: 77, heldUntil: 5, tag: tagOf(1) };
  const expected = { deliveries: 2, expiresAt: 77, heldUntil: NOW, tag: TAG };
  assert.deepEqual(claimed(slot, TAG, NOW, RULES), expected);
  assert.deepEqual(claimed(slot, TAG, NOW, DEAD), { ...expected, deliveries: 1 });
});

test('the current delivery is not among the failed ones', () => {
  const locked = claimed({ deliveries: 1 }, TAG, NOW + 1, RULES);
  assert.equal(failedDeliveries(locked, RULES, NOW), 1);
  assert.equal(failedDeliveries(locked, RULES, NOW + 1), 2);
  assert.equal(failedDeliveries(locked, { ...RULES, epoch: 4 }, NOW), 2);
  assert.equal(failedDeliveries({ deliveries: 2, heldUntil: NOW + 1 }, RULES, NOW), 2);
  assert.equal(failedDeliveries(claimed({ deliveries: 2 }, TAG, NOW + 1, DEAD), DEAD, NOW), 2);
});

test('a message that is gone, free or only delayed has no lock holder', () => {
  assert.equal(holdsLock(undefined, TAG, { epoch: 3 }, NOW), false);
  assert.equal(holdsLock({ deliveries: 1 }, TAG, { epoch: 3 }, NOW), false);
  assert.equal(holdsLock({ deliveries: 1, heldUntil: NOW + 1 }, TAG, { epoch: 3 }, NOW), false);
  assert.equal(
    holdsLock({ deliveries: 1, heldUntil: NOW + 1, tag: TAG }, tagOf(3, 2), { epoch: 3 }, NOW),
    false,
  );
});

/** Instants around the limits, where a lock that is 1 ms too long is found. */
const instant = fc.constantFrom(NOW - 30, NOW - 1, NOW, NOW + 1, NOW + 29, NOW + 30, NOW + 31);
const epoch = fc.constantFrom(0, 1, 2, 3, 255, 256, 259);
const rules = fc.record<SlotRules>({
  epoch,
  isDeadLetter: fc.boolean(),
  maxDeliveryCount: fc.constantFrom(1, 2, 10),
});
const tag = fc
  .tuple(epoch, fc.constantFrom(1, 2))
  .map(([ofEpoch, fill]): Uint8Array => tagOf(ofEpoch, fill));
const slot: fc.Arbitrary<Slot> = fc
  .record(
    {
      deliveries: fc.constantFrom(0, 1, 2, 9, 10, 11),
      heldUntil: instant,
      tag,
      expiresAt: instant,
    },
    { requiredKeys: ['deliveries'] },
  )
  // A slot never has a tag without an instant.
  .map(({ tag: locked, ...rest }) =>
    locked === undefined || rest.heldUntil === undefined ? rest : { ...rest, tag: locked },
  );

test('a message is never free while its lock is held', () => {
  fc.assert(
    fc.property(slot, tag, rules, instant, (one, token, of, now) => {
      const isTheirs = holdsLock(one, token, of, now);
      const { kind } = availability(one, one.expiresAt, of, now);
      assert.ok(!isTheirs || kind === 'held');
    }),
  );
});

test('of several claims at one instant only the first succeeds', () => {
  fc.assert(
    fc.property(slot, rules, instant, fc.integer({ min: 1, max: 30 }), (one, of, now, lockMs) => {
      if (availability(one, undefined, of, now).kind !== 'free') return;
      const first = tagOf(of.epoch, 7);
      const after = claimed(one, first, now + lockMs, of);
      assert.deepEqual(availability(after, undefined, of, now), held(now + lockMs));
      assert.ok(holdsLock(after, first, of, now));
      assert.equal(holdsLock(after, tagOf(of.epoch, 8), of, now), false);
      assert.ok(holdsLock(after, first, of, now + lockMs - 1));
      assert.equal(holdsLock(after, first, of, now + lockMs), false);
      assert.equal(holdsLock(after, first, { epoch: of.epoch + 1 }, now), false);
    }),
  );
});

test('a message is delivered exactly as often as its queue allows', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 60 }), (max, lockMs) => {
      const of = { ...RULES, maxDeliveryCount: max };
      let one: Slot = { deliveries: 0 };
      let now = NOW;
      for (let count = 1; count <= max; count++) {
        assert.equal(availability(one, undefined, of, now).kind, 'free');
        one = claimed(one, TAG, now + lockMs, of);
        assert.equal(failedDeliveries(one, of, now), count - 1);
        now += lockMs;
      }
      assert.equal(availability(one, undefined, of, now).kind, 'exhausted');
    }),
  );
});

test('every lock and delay ends by time alone', () => {
  fc.assert(
    fc.property(slot, rules, (one, of) => {
      assert.equal(isHeld(one, of, Number.MAX_SAFE_INTEGER), false);
      assert.equal(isHeld({ deliveries: one.deliveries }, of, 0), false);
    }),
  );
});
