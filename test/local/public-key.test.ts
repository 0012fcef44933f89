import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { startCli, startNamespaceCli } from './cli.ts';

/** The key SAS_KEY_VALUE is public, in the vendor's samples: it protects nothing that others can reach. */

const AWS = { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' };
const NO_AWS = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined };
const HERE = 'http://127.0.0.1:9';

const REFUSED = {
  'all interfaces': { args: ['--host', '0.0.0.0'] },
  'all interfaces of IPv6': { args: ['--host', '::'] },
  'another address': { args: ['--host', '192.0.2.1'] },
  'a host name': { args: ['--host', 'bus.example'] },
  'all interfaces with the public key as --key': {
    args: ['--host', '0.0.0.0', '--key', 'SAS_KEY_VALUE'],
  },
  'tables elsewhere': { env: { ...NO_AWS, DYNAMODB_ENDPOINT: 'http://dynamodb:8000' } },
  'tables of AWS': {
    env: { ...AWS, DYNAMODB_ENDPOINT: 'https://dynamodb.eu-west-1.amazonaws.com' },
  },
  'tables behind a local address with AWS credentials': {
    env: { ...AWS, DYNAMODB_ENDPOINT: HERE },
  },
} as const;

for (const [what, { args = [], env = {} }] of Object.entries<{
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
}>(REFUSED)) {
  test(`row 16: the public key is refused for ${what}`, async (t) => {
    const cli = startCli(t, {
      args: ['--port', '0', ...args],
      env: { ...env },
    });
    const starts = cli.untilPrinted('Starting the engine').then(() => 'it starts');
    assert.equal(await Promise.race([cli.ended, starts.catch(() => cli.ended)]), 2);
    assert.match(
      cli.errors(),
      /^The key SAS_KEY_VALUE is public, and .+: choose a key of your own with --key or DYNABUS_KEY\.\n$/,
    );
  });
}

test('row 16: an engine on this machine without AWS credentials needs no --key', async (t) => {
  const cli = startCli(t, {
    args: ['--port', '0'],
    env: { ...NO_AWS, DYNAMODB_ENDPOINT: HERE },
  });
  await cli.untilPrinted('Waiting for the engine');
});

for (const endpoint of ['localhost:8000', 'dynamodb:8000', '127.0.0.1:8000', 'ftp://localhost']) {
  for (const args of [[], ['--key', 'k']]) {
    test(`row 16: DYNAMODB_ENDPOINT=${endpoint} ${args} is refused because it is not an HTTP URL`, async (t) => {
      const env = { ...AWS, DYNAMODB_ENDPOINT: endpoint };
      const cli = startCli(t, { args: ['--port', '0', ...args], env });
      assert.equal(await cli.ended, 2);
      assert.equal(
        cli.errors(),
        `DYNAMODB_ENDPOINT is not an HTTP URL: '${endpoint}'. Write it with its scheme, for example http://localhost:8000.\n`,
      );
    });
  }
}

for (const key of ['', 'two words', 'semi;colon', 'ü', 'x'.repeat(257)]) {
  test(`row 16: a key that a connection string cannot hold is refused: '${key.slice(0, 10)}'`, async (t) => {
    const cli = startCli(t, { args: ['--port', '0', `--key=${key}`] });
    assert.equal(await cli.ended, 2);
    assert.match(cli.errors(), /^The key must be up to 256 visible ASCII characters.+\n$/);
  });
}

const KEY = 'k3y-of/our+own=';
const WAYS = {
  '--key': { args: ['--key', KEY], env: {} },
  DYNABUS_KEY: { args: [], env: { DYNABUS_KEY: KEY } },
} as const;

for (const [way, { args, env }] of Object.entries(WAYS)) {
  test(`row 16: with ${way} the server may listen on all interfaces, and accepts only that key`, async (t) => {
    const all = ['--host', '0.0.0.0', '--engine', 'dynoxide', ...args];
    const cli = await startNamespaceCli(t, { args: all, env });
    const { url } = cli;
    const status = async (key: string | undefined, path: string, init: RequestInit = {}) => {
      const authorization = key === undefined ? {} : { Authorization: tokenOf(url, key) };
      const headers = { ...authorization, 'Content-Type': 'application/json' };
      return (await fetch(`${url}/${path}`, { ...init, headers })).status;
    };
    assert.ok(cli.output().includes(`SharedAccessKey=${KEY};`), cli.output());
    assert.equal(await status(KEY, '$namespaceinfo'), 200);
    assert.equal(await status('SAS_KEY_VALUE', '$namespaceinfo'), 401);
    // A move of the clock can expire locks and messages.
    const move = { method: 'POST', body: '{"advanceSeconds":60}' };
    assert.equal(await status(undefined, '$clock', move), 401);
    assert.equal(await status('SAS_KEY_VALUE', '$clock', move), 401);
    assert.equal(await status(KEY, '$clock', move), 200);
  });
}

function tokenOf(audience: string, key: string): string {
  const expiresAt = Date.now() + 3_600_000;
  return createSasToken({ audience, keyName: 'RootManageSharedAccessKey', key, expiresAt });
}
