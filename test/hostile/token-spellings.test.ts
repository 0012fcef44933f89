import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Authorization } from '../../amqp/service/authorization.ts';
import { realScheduler } from '../../lambdas/http/real-scheduler.ts';
import { createSasToken } from '../../lambdas/http/sas-token.ts';
import { isSignedWith } from '../../lambdas/http/sas-token-text.ts';
import { TokenMemory } from '../../lambdas/http/token-memory.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { type AuthorizationRule, QUEUE_DEFAULTS } from '../../shared/domain/descriptions.ts';
import type { Entity } from '../../shared/domain/entity.ts';
import { parseEntityPath } from '../../shared/domain/entity-path.ts';
import { FAKE_NOW } from '../support/fake-broker.ts';
import { fakeManageParts } from '../support/fake-entity-store.ts';
import { fakeEntity, findableEntities, httpParts, rule } from '../support/http-fixture.ts';

/** Row 9: one token under many spellings of its address, and rights that are asked for all the time. */

const HOUR = 3_600_000;
const Q = parseEntityPath('q');

const token = (path: string, keyName: string, changes: { key?: string; expiresAt?: number } = {}) =>
  createSasToken({
    audience: `sb://localhost${path}`,
    keyName,
    key: `${keyName}-primary`,
    expiresAt: FAKE_NOW + HOUR,
    ...changes,
  });

const withRules = (key: string, ...authorizationRules: AuthorizationRule[]): Entity =>
  fakeEntity(key, { ...QUEUE_DEFAULTS, authorizationRules });

/** One connection, and what its questions cost. */
function connect(room = Number.POSITIVE_INFINITY) {
  const counts = { tokensTried: 0, signatures: 0, proved: 0, closed: 0, entityReads: 0 };
  let now = FAKE_NOW;
  const clock = { now: () => now };
  let namespaceRules = [rule('root', 'Manage', 'Send', 'Listen'), rule('listener', 'Listen')];
  const entities: Record<string, Entity> = {
    q: withRules('q', rule('own', 'Send'), rule('ownListener', 'Listen')),
    r: withRules('r', rule('own', 'Listen')),
    'a/b/c': withRules('a/b/c', rule('own', 'Send')),
  };
  const found = findableEntities(entities);
  const tokens = new TokenMemory(new AgeClock(clock, () => 0), (one, key) => {
    counts.signatures++;
    return isSignedWith(one, key);
  });
  const parts = httpParts({
    clock,
    tokens,
    entities: {
      ...found,
      find: (key) => {
        counts.entityReads++;
        return found.find(key);
      },
    },
    namespaceKeys: {
      rules: async () => {
        counts.tokensTried++;
        return namespaceRules;
      },
    },
  });
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return true;
  };
  const { rules } = fakeManageParts({ keyName: 'root', key: 'root-primary' }).management;
  const authorization = new Authorization(
    { ...parts, rules, scheduler: realScheduler, reportFault: assert.ifError },
    {
      tryHold: (bytes) => (held + bytes > room ? false : hold(bytes)),
      release: (bytes) => hold(-bytes),
    },
    { proved: () => counts.proved++, refusedTooOften: () => counts.closed++ },
  );
  authorization.opened('localhost');
  const count = async (work: () => Promise<unknown>) => {
    const before = { ...counts };
    await work();
    return {
      tokensTried: counts.tokensTried - before.tokensTried,
      signatures: counts.signatures - before.signatures,
    };
  };
  const may = async (path: string, right: 'Send' | 'Listen') => {
    try {
      await authorization.require(path, parseEntityPath(path), [right]);
      return true;
    } catch (error) {
      assert.ok(error instanceof BrokerError);
      return false;
    }
  };
  return {
    authorization,
    held: () => held,
    counts,
    count,
    may,
    entities,
    advance: (ms: number) => {
      now += ms;
    },
    setNamespaceRules: (...rules: AuthorizationRule[]) => {
      namespaceRules = rules;
    },
  };
}

/** Other ways to write the same address. */
const spellings = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const bits = i.toString(2).padStart(9, '0');
    const host = [...'localhost'].map((c, k) => (bits[k] === '1' ? c.toUpperCase() : c)).join('');
    return `sb://${host}${'/'.repeat(1 + (i % 7))}${i % 2 === 0 ? 'q' : 'Q'}`;
  });

test('row 9: a token under 500 spellings of its address is one token, which is tried once', async () => {
  const { authorization, count, may } = connect();
  for (const address of spellings(500))
    await authorization.putToken(address, token('/q', 'listener'));
  const refused = await count(async () => assert.equal(await may('q', 'Send'), false));
  assert.deepEqual(refused, { tokensTried: 1, signatures: 0 });
  const allowed = await count(async () => assert.equal(await may('q', 'Listen'), true));
  assert.deepEqual(allowed, { tokensTried: 1, signatures: 0 });
});

test('row 9: a token for an address in other letters, or for one that names nothing, is not tried', async () => {
  const { authorization, count, may } = connect();
  for (let i = 0; i < 300; i++) {
    const path = i % 2 === 0 ? '/q/' : '/Q/';
    const expiresAt = FAKE_NOW + HOUR + 1000 * i;
    const put = (address: string, audience: string) =>
      authorization.putToken(
        `sb://localhost/${address}`,
        token(audience, 'listener', { expiresAt }),
      );
    await put('q', path);
    // More slashes before it are another path, as in requests over HTTP.
    const slashes = '/'.repeat(1 + (i % 2));
    await assert.rejects(put('q', `${slashes}${path}`), /InvalidAudience/);
    await put(`-${i}`, '');
  }
  const { tokensTried } = await count(() => may('q', 'Send'));
  assert.ok(tokensTried <= 2, `${tokensTried} tokens were tried`);
});

test('row 9: tokens of other entities are not looked at', async () => {
  const { authorization, count, may, entities } = connect();
  for (let i = 0; i < 300; i++) {
    entities[`other${i}`] = fakeEntity(`other${i}`);
    await authorization.putToken(`sb://localhost/other${i}`, token(`/other${i}`, 'root'));
  }
  await authorization.putToken('q', token('/q', 'root'));
  assert.deepEqual(await count(() => may('q', 'Send')), { tokensTried: 1, signatures: 0 });
});

test('row 9: a right that is asked for a thousand times computes no signature again', async () => {
  const { authorization, count } = connect();
  for (const keyName of ['root', 'own']) {
    await authorization.putToken('q', token('/q', keyName));
  }
  const { signatures } = await count(async () => {
    for (let i = 0; i < 1000; i++) await authorization.require('q', Q, ['Send']);
  });
  assert.equal(signatures, 0);
});

test('row 9: a connection keeps so many tokens, and so many bytes of them', async () => {
  const { authorization, may, entities } = connect();
  const names = Array.from({ length: BUDGETS.connection.tokens + 1 }, (_, i) => `entity${i}`);
  for (const name of names) {
    entities[name] = fakeEntity(name);
    await authorization.putToken(name, token(`/${name}`, 'root'));
  }
  assert.deepEqual(
    [
      await may('entity0', 'Send'),
      await may('entity1', 'Send'),
      await may(names.at(-1) ?? '', 'Send'),
    ],
    [false, true, true],
  );
  const long = `#${'x'.repeat(7000)}`;
  for (const name of names.slice(0, 200)) {
    await authorization.putToken(name, token(`/${name}${long}`, 'root'));
  }
  assert.deepEqual(
    [await may('entity1900', 'Send'), await may('entity199', 'Send')],
    [false, true],
  );
  await assert.rejects(
    authorization.putToken('q', token(`/q#${'x'.repeat(9000)}`, 'root')),
    /MalformedToken: .* longer than 8192 characters/,
  );
});

test('row 9: tokens are counted among what the connection holds, and refused beyond that', async () => {
  const { authorization, held, may } = connect(1000);
  await authorization.putToken('q', token('/q', 'root'));
  await authorization.putToken('q', token('/q', 'root', { expiresAt: FAKE_NOW + 2 * HOUR }));
  const ofOne = held();
  assert.ok(
    ofOne > 100 && ofOne < 200,
    `${ofOne} bytes of one token, which took the place of another`,
  );
  await assert.rejects(
    authorization.putToken('r', token(`/r#${'x'.repeat(1000)}`, 'root')),
    /ServiceBusy|The connection holds as much as it may/,
  );
  assert.deepEqual([held(), await may('q', 'Send'), await may('r', 'Send')], [ofOne, true, false]);
});

test('tokens of several rules and for several paths add up, as they did', async () => {
  const { authorization, may } = connect();
  await authorization.putToken('q', token('/q', 'own'));
  assert.deepEqual([await may('q', 'Send'), await may('q', 'Listen')], [true, false]);
  await authorization.putToken('q/$management', token('/q', 'ownListener'));
  assert.deepEqual(
    [await may('q', 'Send'), await may('q/$deadletterqueue', 'Listen')],
    [true, true],
  );
  // The same name at another entity is another rule, also in a token for the whole namespace.
  await authorization.putToken('r', token('', 'own'));
  assert.deepEqual(
    [await may('q', 'Send'), await may('r', 'Listen'), await may('r', 'Send')],
    [true, true, false],
  );
  await authorization.putToken('a/b/c', token('/a/b', 'root'));
  assert.deepEqual([await may('a/b/c', 'Send'), await may('a', 'Send')], [true, false]);
});

test('row 12: a right ends with its token, with its key, and with its rule', async () => {
  const { authorization, may, entities, advance, setNamespaceRules } = connect();
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

test('row 11: a right is proved by a known rule only, and refusals are counted', async () => {
  const { authorization, counts } = connect();
  for (let i = 1; i < BUDGETS.connection.refusals; i++) {
    await assert.rejects(authorization.putToken('q', token('/q', 'root', { key: `guess ${i}` })));
    assert.equal(authorization.refusalPauseMs > 0, i > BUDGETS.connection.refusalsAtOnce);
  }
  assert.deepEqual([counts.proved, counts.closed], [0, 0]);
  await authorization.putToken('q', token('/q', 'own'));
  assert.deepEqual([counts.proved > 0, counts.closed], [true, 0]);
  await assert.rejects(authorization.putToken('q', 'nonsense'));
  assert.equal(counts.closed, 1);
});

test('row 11: a name and key that nobody knows are counted when they are used', async () => {
  const { authorization, counts, may } = connect();
  assert.equal(await authorization.offerKey('own', 'guess'), true);
  authorization.opened('localhost');
  for (let i = 0; i < BUDGETS.connection.refusals; i++) assert.equal(await may('q', 'Send'), false);
  assert.deepEqual([counts.proved, counts.closed], [0, 1]);
});

test('row 11: nor does it help to give a key a name that no token can hold', async () => {
  for (const name of ['', 'x'.repeat(BUDGETS.tokens.bytes)]) {
    const { authorization, counts, may } = connect();
    assert.equal(await authorization.offerKey(name, 'guess'), true);
    authorization.opened('localhost');
    for (let i = 0; i < BUDGETS.connection.refusals; i++) await may('q', 'Send');
    assert.deepEqual([counts.proved, counts.closed], [0, 1]);
  }
});

test('row 11: a key that proves a rule is no refusal where the rule lacks a right', async () => {
  const { authorization, counts, may } = connect();
  assert.equal(await authorization.offerKey('own', 'own-primary'), true);
  authorization.opened('localhost');
  for (let i = 0; i < BUDGETS.connection.refusals; i++)
    assert.equal(await may('q', 'Listen'), false);
  assert.equal(counts.closed, 0);
});

test('row 11: a key that is not good for an entity is no refusal where a token gives the right', async () => {
  const { authorization, counts, may } = connect();
  assert.equal(await authorization.offerKey('own', 'guess'), true);
  authorization.opened('localhost');
  await authorization.putToken('q', token('/q', 'own'));
  for (let i = 0; i < BUDGETS.connection.refusals; i++) assert.equal(await may('q', 'Send'), true);
  assert.equal(counts.closed, 0);
});
