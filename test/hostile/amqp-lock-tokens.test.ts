import assert from 'node:assert/strict';
import { test } from 'node:test';
import { list, mapOf, str, uuid } from '../../amqp/wire/value.ts';
import type { Settlement } from '../../shared/broker/broker.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { TAG_BYTES } from '../../shared/domain/lock-token.ts';
import { roundsByBlock } from '../../shared/storage/settle-groups.ts';
import { FAKE_NOW } from '../support/fake-broker.ts';
import { startFakeGateway } from '../support/fake-gateway.ts';

const MOST = LIMITS.settlements;

for (const [operation, more] of [
  ['renew-lock', {}],
  ['update-disposition', { 'disposition-status': str('completed') }],
] as const) {
  test(`row 12: ${operation} takes as many lock tokens as a call over HTTP, and no more`, async (t) => {
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

test('row 12: a token that stands many times in a call is looked at a few times for each', () => {
  let looks = 0;
  const token = {
    store: 'live' as const,
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
