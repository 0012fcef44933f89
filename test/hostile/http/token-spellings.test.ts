import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { connectAuthorized, HOUR, token } from '../../support/authorized-connection.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { fakeEntity } from '../../support/http-fixture.ts';

/** Row 9: one token under many spellings of its address, and frequent checks of a right. */

const Q = parseEntityPath('q');

/** Other ways to write the same address. */
const spellings = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const bits = i.toString(2).padStart(9, '0');
    const host = [...'localhost'].map((c, k) => (bits[k] === '1' ? c.toUpperCase() : c)).join('');
    return `sb://${host}${'/'.repeat(1 + (i % 7))}${i % 2 === 0 ? 'q' : 'Q'}`;
  });

test('row 9: a token under 500 spellings of its address is one token, which is verified once', async () => {
  const { authorization, count, may } = connectAuthorized();
  for (const address of spellings(500))
    await authorization.putToken(address, token('/q', 'listener'));
  const refused = await count(async () => assert.equal(await may('q', 'Send'), false));
  assert.deepEqual(refused, { tokensTried: 1, signatures: 0 });
  const allowed = await count(async () => assert.equal(await may('q', 'Listen'), true));
  assert.deepEqual(allowed, { tokensTried: 1, signatures: 0 });
});

test('row 9: a token for an address in another case, or of no entity, is not verified', async () => {
  const { authorization, count, may } = connectAuthorized();
  for (let i = 0; i < 300; i++) {
    const path = i % 2 === 0 ? '/q/' : '/Q/';
    const expiresAt = FAKE_NOW + HOUR + 1000 * i;
    const put = (address: string, audience: string) =>
      authorization.putToken(
        `sb://localhost/${address}`,
        token(audience, 'listener', { expiresAt }),
      );
    await put('q', path);
    // With more slashes before it, it is another path, as in requests over HTTP.
    const slashes = '/'.repeat(1 + (i % 2));
    await assert.rejects(put('q', `${slashes}${path}`), /InvalidAudience/);
    await put(`-${i}`, '');
  }
  const { tokensTried } = await count(() => may('q', 'Send'));
  assert.ok(tokensTried <= 2, `${tokensTried} tokens were tried`);
});

test('row 9: tokens of other entities are not verified', async () => {
  const { authorization, count, may, entities } = connectAuthorized();
  for (let i = 0; i < 300; i++) {
    entities[`other${i}`] = fakeEntity(`other${i}`);
    await authorization.putToken(`sb://localhost/other${i}`, token(`/other${i}`, 'root'));
  }
  await authorization.putToken('q', token('/q', 'root'));
  assert.deepEqual(await count(() => may('q', 'Send')), { tokensTried: 1, signatures: 0 });
});

test('row 9: a thousand checks of one right compute one signature', async () => {
  const { authorization, count } = connectAuthorized();
  for (const keyName of ['root', 'own']) {
    await authorization.putToken('q', token('/q', keyName));
  }
  const { signatures } = await count(async () => {
    for (let i = 0; i < 1000; i++) await authorization.require('q', Q, ['Send']);
  });
  assert.equal(signatures, 0);
});

test('row 9: a connection keeps a limited number of tokens, and of their bytes', async () => {
  const { authorization, may, entities } = connectAuthorized();
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

test('row 9: tokens count in the memory of the connection, and are refused beyond its limit', async () => {
  const { authorization, held, may } = connectAuthorized(3500);
  await authorization.putToken('q', token('/q', 'root'));
  await authorization.putToken('q', token('/q', 'root', { expiresAt: FAKE_NOW + 2 * HOUR }));
  const ofOne = held();
  assert.ok(
    ofOne > 1300 && ofOne < 1700,
    `${ofOne} bytes of one token, which took the place of another`,
  );
  await assert.rejects(
    authorization.putToken('r', token(`/r#${'x'.repeat(1000)}`, 'root')),
    /ServiceBusy|The connection exceeds its memory limit/,
  );
  assert.deepEqual([held(), await may('q', 'Send'), await may('r', 'Send')], [ofOne, true, false]);
});

test('the rights of tokens of several rules and for several paths add up', async () => {
  const { authorization, may } = connectAuthorized();
  await authorization.putToken('q', token('/q', 'own'));
  assert.deepEqual([await may('q', 'Send'), await may('q', 'Listen')], [true, false]);
  await authorization.putToken('q/$management', token('/q', 'ownListener'));
  assert.deepEqual(
    [await may('q', 'Send'), await may('q/$deadletterqueue', 'Listen')],
    [true, true],
  );
  // The same name in another entity is another rule, also in a token for the whole namespace.
  await authorization.putToken('r', token('', 'own'));
  assert.deepEqual(
    [await may('q', 'Send'), await may('r', 'Listen'), await may('r', 'Send')],
    [true, true, false],
  );
  await authorization.putToken('a/b/c', token('/a/b', 'root'));
  assert.deepEqual([await may('a/b/c', 'Send'), await may('a', 'Send')], [true, false]);
});
