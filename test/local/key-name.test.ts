import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEFAULT_NAMESPACE,
  namespaceName,
  parseKeyName,
  tokenParserOf,
} from '../../local/namespaces/key-name.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';

const LONGEST = 'a'.repeat(63);

const LEADS = {
  RootManageSharedAccessKey: ['RootManageSharedAccessKey', undefined],
  'RootManageSharedAccessKey@test-1': ['RootManageSharedAccessKey', 'test-1'],
  'listen@TEST-1': ['listen', 'test-1'],
  'a@b@c': ['a@b', 'c'],
  'r@1': ['r', '1'],
  'r@a-': ['r', 'a-'],
  [`r@${LONGEST}`]: ['r', LONGEST],
  'r@dynabus': ['r', 'dynabus'],
  '': ['', undefined],
} as const;

for (const [keyName, [rule, namespace]] of Object.entries(LEADS)) {
  test(`'${keyName.slice(0, 40)}' is the rule '${rule}' of ${namespace?.slice(0, 40) ?? 'the default namespace'}`, () => {
    assert.deepEqual(parseKeyName(keyName), { rule, namespace });
  });
}

const BAD = [
  'r@',
  'r@-a',
  'r@a_b',
  'r@a.b',
  'r@a b',
  'r@ü',
  'r@\u212Aelvin',
  'r@\u0130',
  `r@${LONGEST}a`,
  'r@a/b',
  '@a',
  '@',
];
for (const keyName of BAD) {
  test(`'${keyName.slice(0, 40)}' leads nowhere, and the refusal says why`, () => {
    assert.throws(
      () => parseKeyName(keyName),
      (error) =>
        error instanceof BrokerError &&
        error.code === 'Unauthenticated' &&
        /write rule@namespace, with a namespace of 1 to 63 letters, digits and hyphens/.test(
          error.message,
        ),
    );
  });
}

test('a refusal repeats only the beginning of a long name', () => {
  assert.throws(
    () => parseKeyName(`r@${'_'.repeat(5000)}`),
    ({ message }) => message.length < 400,
  );
});

test('names of namespaces are compared in lower case', () => {
  assert.equal(namespaceName('Test-1'), 'test-1');
  assert.equal(namespaceName('test_1'), undefined);
});

test('a namespace reads the rule of its own tokens, and refuses those of others', () => {
  const tokenOf = (keyName: string) =>
    createSasToken({ audience: 'sb://localhost/', keyName, key: 'k', expiresAt: 1e12 });
  const ofTest = tokenParserOf('test-1');
  const ofDefault = tokenParserOf(DEFAULT_NAMESPACE);

  assert.equal(ofTest(tokenOf('rule@Test-1')).keyName, 'rule');
  assert.equal(ofDefault(tokenOf('rule')).keyName, 'rule');
  assert.equal(ofDefault(tokenOf('rule@dynabus')).keyName, 'rule');
  const refused = { code: 'Unauthenticated' };
  assert.throws(() => ofTest(tokenOf('rule')), refused);
  assert.throws(() => ofTest(tokenOf('rule@test-2')), refused);
  assert.throws(() => ofDefault(tokenOf('rule@test-1')), refused);
});
