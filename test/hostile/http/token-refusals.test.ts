import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { connectAuthorized, token, withRules } from '../../support/authorized-connection.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { rule } from '../../support/http-fixture.ts';

/** Row 11: tokens and keys that grant no right; row 12: expired and revoked ones. */

test('row 12: a right ends when its token expires, its key changes or its rule is deleted', async () => {
  const { authorization, may, entities, advance, setNamespaceRules } = connectAuthorized();
  await authorization.putToken('q', token('/q', 'own'));
  await authorization.putToken('r', token('/r', 'root', { expiresAt: FAKE_NOW + 1000 }));
  assert.deepEqual([await may('q', 'Send'), await may('r', 'Send')], [true, true]);
  advance(999);
  assert.equal(await may('r', 'Send'), true);
  advance(1);
  assert.equal(await may('r', 'Send'), false);
  entities['q'] = withRules('q', { ...rule('own', 'Send'), primaryKey: 'a new one' });
  assert.equal(await may('q', 'Send'), false);
  entities['q'] = withRules('q', rule('own', 'Send'));
  assert.equal(await may('q', 'Send'), true);
  entities['q'] = withRules('q', rule('own', 'Listen'));
  assert.equal(await may('q', 'Send'), false);
  await authorization.putToken('q', token('/q', 'root'));
  assert.equal(await may('q', 'Send'), true);
  setNamespaceRules(rule('listener', 'Listen'));
  assert.equal(await may('q', 'Send'), false);
});

test('row 11: only an existing rule grants a right, and refusals are counted', async () => {
  const { authorization, counts } = connectAuthorized();
  for (let i = 1; i < BUDGETS.connection.refusals; i++) {
    await assert.rejects(authorization.putToken('q', token('/q', 'root', { key: `guess ${i}` })));
    assert.equal(authorization.refusalPauseMs > 0, i > BUDGETS.connection.refusalsAtOnce);
  }
  assert.deepEqual([counts.authorized, counts.closed], [0, 0]);
  await authorization.putToken('q', token('/q', 'own'));
  assert.deepEqual([counts.authorized > 0, counts.closed], [true, 0]);
  await assert.rejects(authorization.putToken('q', 'nonsense'));
  assert.equal(counts.closed, 1);
});

test('row 11: an unknown name and key count as a refusal when they are used', async () => {
  const { authorization, counts, may } = connectAuthorized();
  assert.equal(await authorization.offerKey('own', 'guess'), true);
  authorization.opened('localhost');
  for (let i = 0; i < BUDGETS.connection.refusals; i++) assert.equal(await may('q', 'Send'), false);
  assert.deepEqual([counts.authorized, counts.closed], [0, 1]);
});

test('row 11: a key with a name that no token can hold counts as a refusal as well', async () => {
  for (const name of ['', 'x'.repeat(BUDGETS.tokens.length)]) {
    const { authorization, counts, may } = connectAuthorized();
    assert.equal(await authorization.offerKey(name, 'guess'), true);
    authorization.opened('localhost');
    for (let i = 0; i < BUDGETS.connection.refusals; i++) await may('q', 'Send');
    assert.deepEqual([counts.authorized, counts.closed], [0, 1]);
  }
});

test('row 11: a valid key of a rule without the right does not count as a refusal', async () => {
  const { authorization, counts, may } = connectAuthorized();
  assert.equal(await authorization.offerKey('own', 'own-primary'), true);
  authorization.opened('localhost');
  for (let i = 0; i < BUDGETS.connection.refusals; i++)
    assert.equal(await may('q', 'Listen'), false);
  assert.equal(counts.closed, 0);
});

test('row 11: a wrong key for an entity does not count as a refusal if a token grants the right', async () => {
  const { authorization, counts, may } = connectAuthorized();
  assert.equal(await authorization.offerKey('own', 'guess'), true);
  authorization.opened('localhost');
  await authorization.putToken('q', token('/q', 'own'));
  for (let i = 0; i < BUDGETS.connection.refusals; i++) assert.equal(await may('q', 'Send'), true);
  assert.equal(counts.closed, 0);
});
