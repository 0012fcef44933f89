import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProxySettings } from '../../../proxy/proxy-settings.ts';

/** Where a proxy listens. What is refused, the tests of the command and of the sidecar show. */

const NAMES = {
  host: '--host',
  port: '--port',
  key: 'KEY',
  tlsCert: '--tls-cert',
  tlsKey: '--tls-key',
  insecureHost: '--insecure-host',
};

for (const [written, host] of [
  [undefined, '127.0.0.1'],
  ['localhost', 'localhost'],
  ['::1', '::1'],
  ['[::1]', '::1'],
] as const) {
  test(`a proxy with the host ${written} listens on ${host}`, () => {
    assert.equal(readProxySettings({ host: written }, NAMES).host, host);
  });
}
