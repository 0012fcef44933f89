import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, token } from '../../support/atom-client.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, lock } from '../queues/queue.ts';
import { refusalOf, sending, settling } from './transaction.ts';

/** A transaction needs Send on each destination and Listen where it settles, all from one token. */

const keyOf = (rule: string) => rule.padEnd(44, 'A');

/** An authorization rule whose key depends on its name only. */
function ruleOf(name: string, ...rights: readonly string[]): string {
  const list = rights.map((right) => `<AccessRights>${right}</AccessRights>`).join('');
  return `<AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights>${list}</Rights><KeyName>${name}</KeyName><PrimaryKey>${keyOf(name)}</PrimaryKey><SecondaryKey>${keyOf(`${name}2`)}</SecondaryKey></AuthorizationRule>`;
}

const queue = (...rules: readonly string[]) =>
  entry('QueueDescription', `<AuthorizationRules>${rules.join('')}</AuthorizationRules>`);

test('#150 each operation of a transaction needs its right on its entity', async (t) => {
  const broker = await startBroker(t);
  const own = [
    ruleOf('sender', 'Send'),
    ruleOf('listener', 'Listen'),
    ruleOf('both', 'Send', 'Listen'),
  ];
  expectStatus(await broker.request('PUT', 'q', { body: queue(...own) }), 201);
  expectStatus(await broker.request('PUT', 'open', { body: queue(ruleOf('both', 'Send')) }), 201);
  expectStatus(
    await broker.request('PUT', 'closed', { body: queue(ruleOf('both', 'Listen')) }),
    201,
  );
  expectStatus(await broker.send('q', 'in'), 201);
  const message = await lock(broker);
  const request = (keyName: string, operations: readonly object[], scope = '') =>
    broker.request('POST', '$transactions', {
      body: JSON.stringify({ operations }),
      authorization: token(scope, { keyName, key: keyOf(keyName) }),
    });
  const done = settling('complete', 'q', message);

  for (const [keyName, operations, index] of [
    ['sender', [sending('q', 'x'), done], 1],
    ['listener', [done, sending('q', 'x')], 1],
    ['both', [done, sending('q', 'x'), sending('closed', 'x')], 2],
    ['both', [sending('open', 'x'), sending('none', 'x')], 1],
    ['sender', [sending('q', 'x'), sending('open', 'x')], 1],
  ] as const) {
    const answer = await request(keyName, operations);
    assert.equal(answer.status, 401, answer.text);
    assert.deepEqual(
      [refusalOf(answer).code, refusalOf(answer).operation],
      ['Unauthenticated', index],
    );
  }
  const scoped = await request('both', [done, sending('open', 'x')], '/q');
  assert.equal(scoped.status, 401, scoped.text);
  assert.deepEqual(bodies(await broker.peek('q')), ['in']);

  expectStatus(await request('both', [settling('renew', 'q', message)], '/q'), 200);
  expectStatus(await request('both', [done, sending('open', 'out'), sending('q', 'again')]), 200);
  assert.deepEqual(bodies(await broker.peek('q')), ['again']);
  assert.deepEqual(bodies(await broker.peek('open')), ['out']);
});

test('#150 a request without a valid token is answered with 401 even if its body is invalid', async (t) => {
  const broker = await startBroker(t);
  const root = { keyName: 'RootManageSharedAccessKey', key: ROOT_KEY };
  for (const authorization of [null, 'SharedAccessSignature x', token('', root, 1000)]) {
    const answer = await broker.request('POST', '$transactions', { body: '{', authorization });
    assert.equal(answer.status, 401, answer.text);
  }
});
