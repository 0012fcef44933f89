import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorizer, readAccess } from '../../../explorer/api/access.ts';
import { createSasToken } from '../../../shared/auth/create-sas-token.ts';

const STRING =
  'Endpoint=sb://localhost:5300;SharedAccessKeyName=r;SharedAccessKey=k;UseDevelopmentEmulator=true;';
const HOUR_MS = 3_600_000;

test('the page signs as the service expects it', async () => {
  const access = readAccess(STRING, 'localhost:5300');
  const origin = 'http://localhost:5300';
  const token = await authorizer(access, origin)(0);
  assert.equal(
    token,
    createSasToken({ audience: origin, keyName: 'r', key: 'k', expiresAt: HOUR_MS }),
  );
});

test('a token is made anew before it expires', async () => {
  const sign = authorizer(readAccess(STRING, 'localhost:5300'), 'http://localhost:5300');
  const first = await sign(0);
  assert.equal(await sign(49 * 60_000), first);
  assert.notEqual(await sign(51 * 60_000), first);
});

test('a string with an entity is for that entity', async () => {
  const access = readAccess(`${STRING}EntityPath=orders`, 'localhost:5300');
  assert.match(
    await authorizer(access, 'http://localhost:5300')(0),
    /sr=http%3A%2F%2Flocalhost%3A5300%2Forders&/,
  );
});

test('all names of this machine are one', () => {
  for (const host of ['127.0.0.1:5300', '[::1]:5300', 'LOCALHOST:5300']) readAccess(STRING, host);
});

test('the string of another namespace is refused, and leads to the command', () => {
  assert.throws(() => readAccess(STRING, 'bus.example'), {
    name: 'AccessError',
    message: /is for localhost:5300, and this page reaches bus\.example only.*dynabus explorer$/,
  });
});

test('what is no connection string is refused without its value', () => {
  assert.throws(
    () => readAccess('SharedAccessKey=secret', 'localhost'),
    (error: Error) => {
      assert.doesNotMatch(error.message, /secret/);
      return error.name === 'AccessError';
    },
  );
});

test('a whole token is taken as it is', async () => {
  const token = 'SharedAccessSignature sr=a&sig=b&se=1&skn=c';
  assert.equal(await authorizer(readAccess(token, 'x'), 'http://x')(0), token);
});
