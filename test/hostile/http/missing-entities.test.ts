import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { entry } from '../../support/atom-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** Row 11: bad signatures for missing entities, and how soon valid tokens reach a new entity. */

const KEY = 'ofTheQueue'.padEnd(44, 'A');
const RULE = `<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>Send</AccessRights></Rights><KeyName>sender</KeyName><PrimaryKey>${KEY}</PrimaryKey></AuthorizationRule></AuthorizationRules>`;

const token = (keyName: string, key: string) =>
  createSasToken({
    audience: 'http://127.0.0.1/q',
    keyName,
    key,
    expiresAt: Date.UTC(9999, 0, 1),
  });
const OF_QUEUE = token('sender', KEY);

const create = async (broker: TestBroker) =>
  expectStatus(await broker.request('PUT', 'q', { body: entry('QueueDescription', RULE) }), 201);

const sendWith = async (broker: TestBroker, authorization?: string) =>
  (
    await broker.request('POST', 'q/messages', {
      body: 'x',
      ...(authorization === undefined ? {} : { authorization }),
    })
  ).status;

/** Two processes of a namespace, as in a deployment. */
async function startTwo(t: TestContext) {
  const here = await startBroker(t);
  return { here, there: await startBroker(t, { beside: here }) };
}

test('row 11: bad signatures for a missing queue cost one read while its result is cached', async (t) => {
  const broker = await startBroker(t);
  const guess = async () => {
    const answer = await broker.request('POST', 'q/messages', {
      body: 'x',
      authorization: token('sender', randomBytes(8).toString('hex')),
    });
    assert.equal(answer.status, 401);
    assert.match(answer.text, /40103: InvalidSignature/);
  };
  const { requests } = await broker.units(async () => {
    for (let i = 0; i < 12; i++) await guess();
  });
  assert.equal(requests, 1);
  broker.clock.advance({ ms: BUDGETS.tokens.missKeptMs });
  assert.equal((await broker.units(guess)).requests, 1);
});

test('row 11: a transaction with a bad signature for a missing queue reads no more often', async (t) => {
  const broker = await startBroker(t);
  const { requests } = await broker.units(async () => {
    for (let i = 0; i < 5; i++) {
      const answer = await broker.request('POST', '$transactions', {
        body: '{"operations":[{"send":"q","messages":[{"Body":"x"}]}]}',
        authorization: token('sender', `guess ${i}`),
      });
      assert.equal(answer.status, 401);
    }
  });
  assert.equal(requests, 1);
});

test('row 11: a token of the namespace reaches a newly created queue at once', async (t) => {
  const { here, there } = await startTwo(t);
  for (const broker of [here, there]) assert.equal(await sendWith(broker, OF_QUEUE), 401);
  await create(here);
  for (const broker of [here, there]) assert.equal(await sendWith(broker), 201);
});

test('row 11: a token of the namespace gets 410 for a missing queue, whatever is cached', async (t) => {
  const broker = await startBroker(t);
  assert.equal(await sendWith(broker, OF_QUEUE), 401);
  assert.equal(await sendWith(broker), 410);
});

test('row 11: a token of the new queue is valid at once in the process that created it, and soon in others', async (t) => {
  const { here, there } = await startTwo(t);
  for (const broker of [here, there]) assert.equal(await sendWith(broker, OF_QUEUE), 401);
  await create(here);
  assert.equal(await sendWith(here, OF_QUEUE), 201);
  here.clock.advance({ ms: BUDGETS.tokens.missKeptMs });
  assert.equal(await sendWith(there, OF_QUEUE), 201);
});
