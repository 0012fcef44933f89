import assert from 'node:assert/strict';
import { test } from 'node:test';
import { list, mapOf, str, uuid } from '../../amqp/wire/value.ts';
import type { Broker, Settlement } from '../../shared/broker/broker.ts';
import { TAG_BYTES } from '../../shared/domain/blocks/lock-token.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { roundsByBlock } from '../../shared/storage/settle/settle-groups.ts';
import { FAKE_NOW } from '../support/fake-broker.ts';
import { startFakeGateway } from '../support/fake-gateway.ts';
import { turnsUntil } from '../support/fake-peer.ts';
import { fakeEntity, findableEntities, startApp } from '../support/http-fixture.ts';

const MOST = LIMITS.settlements;
const { settlementBytes } = BUDGETS.weights;

const OPERATIONS = [
  ['renew-lock', {}],
  ['update-disposition', { 'disposition-status': str('completed') }],
] as const;

for (const [operation, more] of OPERATIONS) {
  test(`row 12: ${operation} accepts as many lock tokens as a call over HTTP, and no more`, async (t) => {
    let tokens = 0;
    const { connect } = await startFakeGateway(t, {
      calls: {
        renewLocks: async (_path, lockTokens) => {
          tokens += lockTokens.length;
          return lockTokens.map((lockToken) => ({ lockToken, lockedUntil: FAKE_NOW }));
        },
        settle: async (_path, settlements: readonly Settlement[]) => {
          tokens += settlements.length;
          return settlements.map(({ lockToken }) => ({ lockToken }));
        },
      },
    });
    const session = connect();
    const ask = (count: number) => {
      const lockTokens = Array.from({ length: count }, () => uuid(Buffer.alloc(16, 1)));
      return session.ask('q', operation, mapOf({ 'lock-tokens': list(lockTokens), ...more }));
    };
    const { status, condition } = await ask(MOST + 1);
    assert.deepEqual([status, condition], [400, 'com.microsoft:argument-error']);
    assert.equal(tokens, 0);
    assert.equal((await ask(MOST)).status, 200);
    assert.equal(tokens, MOST);
  });
}

/** A broker whose renewals and settlements complete only when `finish` is called. */
function slowBroker() {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begun = 0;
  const calls: Pick<Broker, 'renewLocks' | 'settle'> = {
    renewLocks: async (_path, lockTokens) => {
      begun++;
      await finished;
      return lockTokens.map((lockToken) => ({ lockToken, lockedUntil: FAKE_NOW }));
    },
    settle: async (_path, settlements) => {
      begun++;
      await finished;
      return settlements.map(({ lockToken }) => ({ lockToken }));
    },
  };
  return { calls, finish: () => finish(), begun: () => begun };
}

for (const [operation, more] of OPERATIONS) {
  test(`row 12: messages of ${operation} count until it completes, also after the peer disconnects`, async (t) => {
    const { calls, finish, begun } = slowBroker();
    const { connect, gateway, dependencies } = await startFakeGateway(t, { calls });
    const session = connect();
    const lockTokens = Array.from({ length: MOST }, () => uuid(Buffer.alloc(16, 1)));
    const asked = session.ask('q', operation, mapOf({ 'lock-tokens': list(lockTokens), ...more }));
    asked.catch(() => {});
    while (begun() === 0) await new Promise(setImmediate);
    const bytes = MOST * settlementBytes;
    assert.ok(dependencies.memory.held >= bytes, `${dependencies.memory.held} are held`);
    session.raw.destroy();
    while (gateway.connections > 0) await new Promise(setImmediate);
    assert.ok(dependencies.memory.held >= bytes, `${dependencies.memory.held} are held`);
    finish();
    await turnsUntil(() => dependencies.memory.held === 0);
    assert.equal(dependencies.memory.held, 0);
  });
}

for (const [what, path, body] of [
  ['renewals', '/q/messages/$renew', { lockTokens: Array<string>(MOST).fill('t') }],
  [
    'settlements',
    '/q/messages/$settle',
    { settlements: Array(MOST).fill({ lockToken: 't', outcome: 'complete' }) },
  ],
] as const) {
  test(`row 12: ${what} over HTTP count, and are refused if there is no memory for them`, async () => {
    const { calls, finish, begun } = slowBroker();
    const memory = new MemoryBudget(2.5 * MOST * settlementBytes);
    const entities = findableEntities({ q: fakeEntity('q') });
    const { call, broker } = startApp({ entities, memory });
    Object.assign(broker, calls);
    const headers = { 'content-type': 'application/json' };
    const request = { headers, body: JSON.stringify(body) };
    const answers = Array.from({ length: 3 }, () => call('POST', path, request));
    await turnsUntil(() => begun() === 2);
    assert.ok(memory.held >= 2 * MOST * settlementBytes, `${memory.held} are held`);
    const refused = await Promise.race(answers);
    assert.equal(refused.status, 503);
    finish();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 200, 503]);
    assert.equal(memory.held, 0);
  });
}

test('row 12: the work for a token that a call repeats grows linearly with the repetitions', () => {
  let looks = 0;
  const token = {
    section: 'live' as const,
    partition: 0,
    block: 1n,
    get slot() {
      looks++;
      return 0;
    },
    liveSlots: 1,
    tag: new Uint8Array(TAG_BYTES),
  };
  const settlement = { token, action: { kind: 'complete' as const } };
  const rounds = roundsByBlock(Array.from({ length: MOST }, () => settlement));
  assert.equal(rounds.length, MOST);
  assert.ok(looks <= 4 * MOST, `${looks} looks`);
});
