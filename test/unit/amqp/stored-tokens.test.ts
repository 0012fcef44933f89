import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Authorization } from '../../../amqp/authorization/authorization.ts';
import type { AmqpDependencies } from '../../../amqp/service/dependencies.ts';
import { NamespaceBinding } from '../../../amqp/service/namespace-binding.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { isSignedWith, parseSasToken } from '../../../shared/auth/sas-token-text.ts';
import { TokenCache } from '../../../shared/auth/token-cache.ts';
import type { AccessRight } from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { agesBy } from '../../support/ages.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const PATH = parseEntityPath('q');
/** Long, so that the tokens of a few connections do not fit into the cache of the process. */
const KEY_NAMES = Array.from({ length: 30 }, (_, i) => `${i}-${'k'.repeat(60)}`);

/** Connections of one process, whose parses and signatures are counted. */
function start() {
  const counts = { parsed: 0, signed: 0 };
  const tokens = new TokenCache(
    agesBy(() => 0),
    (...call) => {
      counts.signed++;
      return isSignedWith(...call);
    },
    (text) => {
      counts.parsed++;
      return parseSasToken(text);
    },
  );
  const clock = { ms: NOW };
  const rights: { key: string; granted: AccessRight[] } = { key: 'key', granted: ['Listen'] };
  const find = async () => ({
    description: {
      kind: 'queue',
      authorizationRules: KEY_NAMES.map((keyName) => ({
        keyName,
        primaryKey: rights.key,
        secondaryKey: 'second',
        rights: rights.granted,
      })),
    },
  });
  const dependencies = {
    entities: { find },
    namespaceKeys: { rules: async () => [] },
    tokenClock: { now: () => clock.ms },
    tokens,
  } as unknown as AmqpDependencies;
  const held = { bytes: 0 };
  const account = {
    tryHold: (bytes: number) => {
      held.bytes += bytes;
      return true;
    },
    release: (bytes: number) => {
      held.bytes -= bytes;
    },
  };
  const connect = () => {
    const events = { authorized: () => {}, refusedTooOften: () => {} };
    return new Authorization(
      new NamespaceBinding(dependencies, undefined, () => {}),
      account,
      events,
    );
  };
  return { counts, clock, rights, held, connect };
}

/** Puts a token of each rule for the queue, valid for some time that differs for each connection. */
async function putAll(connection: Authorization, validMs: number): Promise<void> {
  for (const keyName of KEY_NAMES) {
    const audience = 'sb://localhost/q';
    const options = { audience, keyName, key: 'key', expiresAt: NOW + validMs };
    await connection.putToken(audience, createSasToken(options));
  }
}

async function confirms(connection: Authorization, right: AccessRight): Promise<boolean> {
  return await connection.confirm('q', PATH, [right]).then(
    () => true,
    () => false,
  );
}

test('a token is parsed and verified once, when it is put, however many checks follow and connections there are', async () => {
  const { counts, connect } = start();
  const connections = Array.from({ length: 100 }, connect);
  for (const [i, one] of connections.entries()) await putAll(one, HOUR_MS + i * 1000);
  const put = { ...counts };
  assert.deepEqual(put, { parsed: 3000, signed: 3000 });
  for (const one of connections) {
    assert.equal(await confirms(one, 'Listen'), true);
    // No token has this right, so each of them is checked.
    assert.equal(await confirms(one, 'Send'), false);
  }
  assert.deepEqual(counts, put);
});

test('W5 K6 a stored token counts no longer once it has expired, its rule lost the right, or its key has changed', async () => {
  const { clock, rights, connect } = start();
  const connection = connect();
  await putAll(connection, HOUR_MS);
  assert.equal(await confirms(connection, 'Listen'), true);
  rights.granted = ['Send'];
  assert.equal(await confirms(connection, 'Listen'), false);
  assert.equal(await confirms(connection, 'Send'), true);
  rights.key = 'changed';
  assert.equal(await confirms(connection, 'Send'), false);
  rights.key = 'key';
  clock.ms = NOW + HOUR_MS - 1;
  assert.equal(await confirms(connection, 'Send'), true);
  clock.ms++;
  assert.equal(await confirms(connection, 'Send'), false);
});

test('stored tokens count with what their parsed form takes, and no longer once they are replaced', async () => {
  const { held, connect } = start();
  const connection = connect();
  await putAll(connection, HOUR_MS);
  const once = held.bytes;
  assert.ok(once > KEY_NAMES.length * 1024, `${once} bytes`);
  await putAll(connection, 2 * HOUR_MS);
  assert.equal(held.bytes, once);
});
