import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import {
  type AuthorizationRuleInput,
  authorizationRules,
} from '../../../shared/domain/entities/authorization-rules.ts';

const KEY_1 = 'A'.repeat(43).concat('=');
const KEY_2 = 'B'.repeat(43).concat('=');
const LISTEN: AuthorizationRuleInput = { keyName: 'app', rights: ['Listen'] };
const WITH_KEYS = { ...LISTEN, primaryKey: KEY_1, secondaryKey: KEY_2 };

/** Random bytes that count up, so that all generated keys differ. */
function countingRandom() {
  let next = 0;
  return { bytes: (count: number) => new Uint8Array(count).fill(++next) };
}

const rulesOf = (input: readonly AuthorizationRuleInput[]) =>
  authorizationRules(input, [], 1000, countingRandom());

test('missing keys are generated: 44 characters, all different', () => {
  const [rule] = rulesOf([LISTEN]);
  assert.equal(rule?.primaryKey, Buffer.alloc(32, 1).toString('base64'));
  assert.equal(rule?.secondaryKey, Buffer.alloc(32, 2).toString('base64'));
  assert.equal(rule?.primaryKey.length, 44);
});

test('keys in the request are kept', () => {
  assert.deepEqual(rulesOf([WITH_KEYS]), [{ ...WITH_KEYS, createdAt: 1000, modifiedAt: 1000 }]);
});

test('Manage includes Send and Listen; the rights are always in the same order', () => {
  const [all, some] = rulesOf([
    { keyName: 'm', rights: ['Manage'] },
    { keyName: 's', rights: ['Listen', 'Send', 'Listen'] },
  ]);
  assert.deepEqual(all?.rights, ['Manage', 'Send', 'Listen']);
  assert.deepEqual(some?.rights, ['Send', 'Listen']);
});

test('an unchanged rule keeps its times, and the keys that the update omits', () => {
  const before = rulesOf([WITH_KEYS]);
  const same = authorizationRules([LISTEN], before, 2000, countingRandom());
  assert.deepEqual(same, before);
});

test('a rotated key or a changed right updates ModifiedTime, but not CreatedTime', () => {
  const before = rulesOf([WITH_KEYS]);
  const rotated = { ...WITH_KEYS, primaryKey: KEY_2 };
  const [one] = authorizationRules([rotated], before, 2000, countingRandom());
  assert.deepEqual(one, { ...rotated, createdAt: 1000, modifiedAt: 2000 });
  const wider = { ...WITH_KEYS, rights: ['Send', 'Listen'] as const };
  const [two] = authorizationRules([wider], before, 3000, countingRandom());
  assert.deepEqual(two, { ...wider, createdAt: 1000, modifiedAt: 3000 });
});

test('#153 twelve rules are accepted, thirteen are not', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ ...LISTEN, keyName: `k${i}` }));
  assert.equal(rulesOf(many(12)).length, 12);
  assert.throws(() => rulesOf(many(13)), /^BrokerError: 13 .* the limit is 12\.$/);
});

const REFUSED: readonly (readonly [string, readonly AuthorizationRuleInput[], RegExp])[] = [
  ['a name given twice', [LISTEN, LISTEN], /'app' was given twice/],
  ['no name', [{ ...LISTEN, keyName: '' }], /is 0 characters long; it may have 1 to 256/],
  ['a long name', [{ ...LISTEN, keyName: 'k'.repeat(257) }], /is 257 characters long/],
  ['no right', [{ ...LISTEN, rights: [] }], /'app' gives no right/],
  ['a short key', [{ ...LISTEN, primaryKey: 'secret' }], /is 6 characters long; it must be 44/],
  ['a key beyond ASCII', [{ ...LISTEN, secondaryKey: 'ä'.repeat(44) }], /44 ASCII characters/],
];

for (const [what, input, says] of REFUSED) {
  test(`${what} is refused, and the error contains no key`, () => {
    assert.throws(
      () => rulesOf(input),
      (error: unknown) => {
        assert.ok(error instanceof BrokerError);
        assert.equal(error.code, 'ArgumentError');
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /secret|ää/);
        return true;
      },
    );
  });
}
